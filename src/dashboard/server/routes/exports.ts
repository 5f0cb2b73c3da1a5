import {
  CreateExportBody,
  ExportBody,
  ExportFileQuery,
  ExportMailBody,
  type ExportMailListed,
  type ExportsAnswer,
  type ListedExport,
  MailExportBody,
} from '../../../../schemas/dashboard/exports.ts'
import { EXPORT_LIMITS } from '../../../../schemas/limits.ts'
import { type ExportMail, isExportMail } from '../../../alerts/redis/alert-store.ts'
import type { Segments } from '../../../companies/segments/segments.ts'
import type { ExportAdmin } from '../../../exports/admin.ts'
import type { Export, ExportRun } from '../../../exports/redis/export-store.ts'
import { exportFolder, nextDue, openSince, placeOf, upcomingDue } from '../../../exports/schedule.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { ArchiveLocation } from '../../../pipeline/declaration/destination.ts'
import type { Clock } from '../../../run/clock.ts'
import { InputError } from '../../../run/errors.ts'
import { TenantSlots } from '../../../run/tenant-slots.ts'
import { EXPORTS } from '../../../stores/clickhouse/read-limits.ts'
import type { ObjectStore } from '../../../stores/objects/object-store.ts'
import { type Tenant, zoneOfTenant } from '../../../tenants/tenancy.ts'
import type { PersonStore } from '../people.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { makerOf } from '../sessions.ts'
import { type AlertDependencies, assertCanEmail, listedAttempt } from './alerts.ts'

export interface ExportDependencies
  extends Pick<AlertDependencies, 'alerts' | 'alertActivity' | 'deliveries' | 'canEmail'> {
  readonly persons: Pick<PersonStore, 'getPerson'>
  readonly scheduledExports: ExportAdmin
  readonly segments: Segments
  /** Where their files are. */
  readonly archiveLocation: ArchiveLocation
  readonly exportFiles: Pick<ObjectStore, 'get'>
  readonly clock: Clock
}

const PATH = '/api/tenants/:tenant/exports'
const CALENDAR_DAYS = 7

/** Scheduled exports (src/exports/README.md). */
export function exportRoutes(parts: ExportDependencies): DashboardRoute[] {
  const { scheduledExports: admin, segments, archiveLocation, exportFiles, clock } = parts
  const downloads = new TenantSlots(EXPORTS)
  const { alerts, alertActivity, deliveries, canEmail, persons } = parts
  const listedMail = async (mail: ExportMail): Promise<ExportMailListed> => {
    const { id, target, once, paused, unconfirmed } = mail
    const [{ attempt }, waiting] = await Promise.all([alertActivity.activity(id), deliveries.waitingOf(id)])
    return {
      ...{ mail_id: id, address: target, once: once === true, paused: paused ?? null },
      ...{ unconfirmed: unconfirmed ?? null, waiting },
      last_attempt: attempt === undefined ? null : listedAttempt(attempt),
    }
  }
  const mailOf = async (tenantId: string, id: string): Promise<ExportMail> => {
    const found = await alerts.get(tenantId, id)
    if (isExportMail(found)) return found
    throw new InputError('this is no subscription to an export')
  }
  const listed = async (tenant: Tenant, one: Export, all?: readonly ExportMail[]): Promise<ListedExport> => {
    const zone = zoneOfTenant(tenant)
    const mails = (all ?? (await alerts.exportMails(one.tenantId))).filter((mail) => mail.export.id === one.id)
    const [segment, state, askedMs] = await Promise.all([
      segments.get(one.tenantId, one.segment_id),
      admin.exports.state(one.id),
      admin.exports.asked(one.id),
    ])
    const { id, tenantId, name, every, at, format, keep, created_at, paused } = one
    const { last, error, failures, retryAtMs, runs = [] } = state
    const openMs = openSince(one, state, askedMs, clock.now(), zone)
    return {
      ...{ export_id: id, name, segment: { segment_id: one.segment_id, name: segment?.name ?? null } },
      ...{ every, at, format, keep, folder: exportFolder(tenantId, name), created_at, paused: paused ?? null },
      next_at: paused === undefined ? iso(nextDue(one, clock.now(), zone)) : null,
      upcoming: paused === undefined ? upcomingDue(one, clock.now(), CALENDAR_DAYS, zone).map(iso) : [],
      open_since: openMs === undefined ? null : iso(openMs),
      last:
        last === undefined
          ? null
          : {
              ...{ object: last.key, written_at: iso(last.atMs), rows: last.rows, bytes: last.bytes },
              took_ms: last.tookMs,
            },
      error:
        error === undefined
          ? null
          : { at: iso(error.atMs), message: error.message, failures, retry_at: iso(retryAtMs) },
      runs: runs.map(listedRun),
      mails: await Promise.all(mails.map(listedMail)),
    }
  }
  const change = (verb: 'run' | 'pause' | 'resume') =>
    route({
      method: 'POST',
      path: `${PATH}/${verb}`,
      body: ExportBody,
      async handle({ tenant, session, body }) {
        const found = await admin.get(tenant.id, body.export_id)
        if (verb !== 'run') return json(await listed(tenant, await admin[verb](found)))
        await alerts.takeFile(tenant.id, found.id, makerOf(session))
        await admin.run(found)
        return json(await listed(tenant, found))
      },
    })
  return [
    route({
      method: 'GET',
      path: PATH,
      async handle({ tenant, session }) {
        const [found, mails] = await Promise.all([admin.exports.list(tenant.id), alerts.exportMails(tenant.id)])
        const { personId } = session
        const person = personId === undefined ? undefined : await persons.getPerson(tenant, personId)
        const isFolder = 'folder' in archiveLocation
        const answer: ExportsAnswer = {
          exports: await Promise.all(found.map((one) => listed(tenant, one, mails))),
          exports_max: EXPORT_LIMITS.exportsMax,
          ...{ can_email: canEmail, own_address: person?.email ?? null },
          store: {
            kind: isFolder ? 'folder' : 'bucket',
            place: isFolder && session.role !== 'operator' ? null : placeOf(archiveLocation),
          },
        }
        return json(answer)
      },
    }),
    route({
      method: 'GET',
      path: `${PATH}/file`,
      query: ExportFileQuery,
      async handle({ tenant, query: { export_id: id, file } }) {
        const { name, format } = await admin.get(tenant.id, id)
        const stream = await exportFiles.get(`${exportFolder(tenant.id, name)}${file}`)
        if (stream === undefined) throw new HttpError('not_found', 'this file is not kept any more')
        return {
          status: 200,
          type: format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson',
          headers: { 'content-disposition': `attachment; filename="${name}-${file}"` },
          body: downloads.pass(tenant.id, stream.setEncoding('utf8') as AsyncIterable<string>),
        }
      },
    }),
    route({
      method: 'POST',
      path: PATH,
      body: CreateExportBody,
      async handle({ tenant, body: { segment_id: id, keep = EXPORT_LIMITS.keep, ...given } }) {
        const { name: segment } = await segments.existing(tenant.id, id)
        const made = await admin.create(tenant.id, { ...given, name: given.name.trim(), segment, keep })
        return json(await listed(tenant, made))
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/mail`,
      body: MailExportBody,
      async handle({ tenant, session, body: { export_id: exportId, address, once } }) {
        assertCanEmail(canEmail, 'target')
        const { id, name } = await admin.get(tenant.id, exportId)
        const wanted = { address, export: { id, name }, once, madeBy: makerOf(session) }
        return json(await listedMail(await alerts.mailExport(tenant.id, wanted)))
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/mail/ask-again`,
      body: ExportMailBody,
      async handle({ tenant, session, body }) {
        await alerts.askAgain(await mailOf(tenant.id, body.mail_id), makerOf(session))
        return json({})
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/mail/remove`,
      body: ExportMailBody,
      async handle({ tenant, body }) {
        await alerts.remove(await mailOf(tenant.id, body.mail_id))
        return json({})
      },
    }),
    change('run'),
    change('pause'),
    change('resume'),
    route({
      method: 'POST',
      path: `${PATH}/remove`,
      body: ExportBody,
      async handle({ tenant, body }) {
        const { id } = await admin.get(tenant.id, body.export_id)
        await admin.exports.remove(tenant.id, id)
        return json({})
      },
    }),
  ]
}

function listedRun(run: ExportRun): ListedExport['runs'][number] {
  const at = iso(run.atMs)
  if ('message' in run) return { at, object: null, rows: null, bytes: null, error: run.message }
  return { at, object: run.key, rows: run.rows, bytes: run.bytes, error: null }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
