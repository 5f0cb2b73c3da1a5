import { Command, Option } from 'commander'
import { normalAddress } from '../../../schemas/alert.ts'
import {
  EXPORT_FORMATS,
  EXPORT_LIMITS,
  EXPORT_PERIODS,
  type ExportFormat,
  type ExportPeriod,
} from '../../../schemas/limits.ts'
import { ALERT_SETTINGS, manage as manageAlerts, stateOf } from '../../alerts/commands/alert.ts'
import type { ExportMail } from '../../alerts/redis/alert-store.ts'
import { archiveLocationOf } from '../../config/config.ts'
import { systemClock } from '../../run/clock.ts'
import { InputError, UnavailableError } from '../../run/errors.ts'
import { poll } from '../../run/loop.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { zoneOfTenant } from '../../tenants/tenancy.ts'
import type { CliContext } from '../../terminal/context.ts'
import { integerOption, waitOption } from '../../terminal/integer-option.ts'
import { printJson, printPairs, printTable } from '../../terminal/print.ts'
import { configOf, INSTANCE_SETTINGS } from '../../terminal/settings-options.ts'
import { addSubcommand } from '../../terminal/subcommand.ts'
import type { ExportAdmin } from '../admin.ts'
import type { Export, ExportState } from '../redis/export-store.ts'
import { exportFolder, placeOf } from '../schedule.ts'

interface ExportOptions {
  readonly segment: string
  readonly every: ExportPeriod
  readonly at: string
  readonly format: ExportFormat
  readonly keep: number
  readonly wait: number
  readonly json?: boolean
}

const SETTINGS = [...INSTANCE_SETTINGS, 'archiveUrl'] as const
const LOOK_EVERY_MS = 200

/** `ipid export create|list|run|pause|resume|remove`, `mail|mails|unmail` */
export function exportCommand(context: CliContext): Command {
  const root = new Command('export')
  addCreate(root, context)
  addList(root, context)
  addRun(root, context)
  addPauseAndResume(root, context)
  addRemove(root, context)
  addMails(root, context)
  return root
}

function addCreate(root: Command, context: CliContext): void {
  addSubcommand(root, 'create <tenant> <name>', 'create an export; its name is a folder of its files', SETTINGS)
    .requiredOption('--segment <name>', 'the companies to write')
    .addOption(new Option('--every <period>', 'week: on Mondays').choices(EXPORT_PERIODS).makeOptionMandatory())
    .option('--at <time>', 'time of day, in the time zone of the tenant', '06:00')
    .addOption(new Option('--format <format>', 'CSV or lines of JSON').choices(EXPORT_FORMATS).default('csv'))
    .addOption(
      integerOption('keep', 'n', 'how many files are kept; older ones are removed', {
        ...{ least: 1, most: EXPORT_LIMITS.keepMax, otherwise: EXPORT_LIMITS.keep },
      }),
    )
    .action(async (tenant: string, name: string, { json, ...options }: ExportOptions, command: Command) => {
      const { segment, every, at, format, keep } = options
      await show(context, tenant, command, json, (admin) =>
        admin.create(tenant, { name, segment, every, at, format, keep }),
      )
    })
}

function addList(root: Command, context: CliContext): void {
  addSubcommand(root, 'list <tenant>', 'list the exports of a tenant with their last files', SETTINGS).action(
    async (tenant: string, { json }: ExportOptions, command: Command) => {
      const shown = await manage(context, tenant, command, async (admin, view) => {
        return await Promise.all((await admin.exports.list(tenant)).map((one) => view(one)))
      })
      if (json)
        printJson(
          context.stdout,
          shown.map(({ schedule: _, state: __, ...values }) => values),
        )
      else {
        const rows = shown.map(({ name, segment, schedule, last, state }) => [
          ...[name, segment, schedule, last?.written_at ?? 'never', last?.rows ?? '', last?.bytes ?? '', state],
        ])
        printTable(context.stdout, ['NAME', 'SEGMENT', 'WRITTEN', 'LAST', 'ROWS', 'BYTES', 'STATE'], rows)
      }
    },
  )
}

function addRun(root: Command, context: CliContext): void {
  addSubcommand(root, 'run <tenant> <name>', 'write a file now, and wait for it', SETTINGS)
    .addOption(waitOption('how long to wait for the file'))
    .action(async (tenant: string, name: string, { wait, json }: ExportOptions, command: Command) => {
      let error: ExportState['error']
      await show(context, tenant, command, json, async (admin) => {
        const found = await admin.named(tenant, name)
        const asked = await admin.run(found)
        const look = async () => {
          const state = await admin.exports.state(found.id)
          return state.askedMs >= asked ? state : undefined
        }
        const state = await poll(look, { everyMs: LOOK_EVERY_MS, deadlineMs: performance.now() + wait * 1_000 })
        if (state === undefined)
          throw new UnavailableError('no process with the role sink has written it yet: see ipid export list')
        error = state.error
        return found
      })
      if (error !== undefined) throw new UnavailableError(`the file was not written: ${error.message}`)
    })
}

function addPauseAndResume(root: Command, context: CliContext): void {
  for (const [verb, about] of [
    ['pause', 'write no more files until it is resumed'],
    ['resume', 'write files again; times during the pause are not made up'],
  ] as const) {
    addSubcommand(root, `${verb} <tenant> <name>`, about, SETTINGS).action(
      async (tenant: string, name: string, { json }: ExportOptions, command: Command) => {
        await show(context, tenant, command, json, async (admin) => admin[verb](await admin.named(tenant, name)))
      },
    )
  }
}

function addRemove(root: Command, context: CliContext): void {
  addSubcommand(root, 'remove <tenant> <name>', 'remove an export; its files stay', SETTINGS).action(
    async (tenant: string, name: string, { json }: ExportOptions, command: Command) => {
      const removed = await manage(context, tenant, command, async (admin, view) => {
        const found = await admin.named(tenant, name)
        const shown = await view(found)
        await admin.exports.remove(tenant, found.id)
        return shown
      })
      print(context, removed, json)
    },
  )
}

interface MailOptions {
  readonly once?: boolean
  readonly json?: boolean
}

function addMails(root: Command, context: CliContext): void {
  addSubcommand(
    root,
    'mail <tenant> <name> <address>',
    'send its new files to an e-mail address, which confirms once; needs SMTP_URL',
    ALERT_SETTINGS,
  )
    .option('--once', 'only the next file')
    .action(async (tenant: string, name: string, address: string, options: MailOptions, command: Command) => {
      const { once = false, json = false } = options
      const made = await manageAlerts(context, tenant, command, async (admin, client) => {
        const { id } = await exportsOf(client).then((exports) => exports.named(tenant, name))
        return await admin.mailExport(tenant, { address, export: { id, name }, once })
      })
      printMail(context, made, json)
    })
  addSubcommand(root, 'mails <tenant>', 'list who gets files of exports by e-mail', ALERT_SETTINGS).action(
    async (tenant: string, { json }: MailOptions, command: Command) => {
      const all = await manageAlerts(context, tenant, command, (admin) => admin.exportMails(tenant))
      if (json) printJson(context.stdout, all.map(mailJson))
      else {
        const rows = all.map((one) => [one.export.name, one.target, one.once ? 'next file' : 'each file', stateOf(one)])
        printTable(context.stdout, ['EXPORT', 'ADDRESS', 'SENT', 'STATE'], rows)
      }
    },
  )
  addSubcommand(
    root,
    'unmail <tenant> <name> <address>',
    'send its files there no more; waiting mails are not sent',
    ALERT_SETTINGS,
  ).action(async (tenant: string, name: string, address: string, { json = false }: MailOptions, command: Command) => {
    const removed = await manageAlerts(context, tenant, command, async (admin) => {
      const target = normalAddress(address)
      const found = (await admin.exportMails(tenant)).filter((one) => one.export.name === name && one.target === target)
      if (found.length === 0)
        throw new InputError(`${address} gets no files of export ${name} of tenant ${tenant}: see ipid export mails`)
      for (const one of found) await admin.remove(one)
      return found
    })
    if (json) printJson(context.stdout, removed.map(mailJson))
    else for (const one of removed) printMail(context, one, false)
  })
}

async function exportsOf(client: RedisClient): Promise<ExportAdmin> {
  const { ExportAdmin: Admin } = await import('../admin.ts')
  return new Admin(client, systemClock)
}

function printMail(context: CliContext, mail: ExportMail, json: boolean): void {
  if (json) printJson(context.stdout, mailJson(mail))
  else
    printPairs(context.stdout, [
      ['export', mail.export.name],
      ['address', mail.target],
      ['sent', mail.once ? 'the next file' : 'each file'],
      ['state', stateOf(mail)],
    ])
}

function mailJson({ id, tenantId, export: of, target, once, created_at, paused, unconfirmed }: ExportMail) {
  return {
    ...{ mail_id: id, tenant_id: tenantId, export_id: of.id, name: of.name, address: target, created_at },
    once: once === true,
    ...{ paused: paused ?? null, unconfirmed: unconfirmed ?? null },
  }
}

async function show(
  context: CliContext,
  tenant: string,
  command: Command,
  json: boolean | undefined,
  change: (admin: ExportAdmin) => Promise<Export>,
): Promise<void> {
  print(context, await manage(context, tenant, command, async (admin, view) => view(await change(admin))), json)
}

function print(context: CliContext, shown: ShownExport, json = false): void {
  const { schedule, state, ...values } = shown
  if (json) printJson(context.stdout, values)
  else {
    printPairs(context.stdout, [
      ['export', shown.name],
      ['segment', shown.segment ?? 'removed'],
      ['written', schedule],
      ['format', shown.format],
      ['files', `${shown.keep} kept in ${shown.folder} of ${shown.place}`],
      ['last file', shown.last === null ? 'none' : `${shown.last.key}, ${shown.last.rows} rows`],
      ['state', state],
    ])
  }
}

async function manage<T>(
  context: CliContext,
  tenant: string,
  command: Command,
  use: (admin: ExportAdmin, view: (one: Export) => Promise<ShownExport>) => Promise<T>,
): Promise<T> {
  const [{ withTenants }, { asInstance }, { ExportAdmin: Admin }, { Segments }] = await Promise.all([
    import('../../terminal/stores.ts'),
    import('../../terminal/instance.ts'),
    import('../admin.ts'),
    import('../../companies/segments/segments.ts'),
  ])
  const config = await asInstance(configOf(context, command))
  const place = placeOf(archiveLocationOf(config))
  return await withTenants(config, async (tenants, client) => {
    const found = await tenants.getTenant(tenant)
    const zone = zoneOfTenant(found)
    if (found.deleting) throw new InputError(`tenant ${tenant} is being deleted`)
    const admin = new Admin(client, systemClock)
    const segments = new Segments(client, systemClock)
    const view = async (one: Export) => {
      const segment = await segments.get(tenant, one.segment_id)
      return shownExport(one, await admin.exports.state(one.id), segment?.name, { place, zone })
    }
    return await use(admin, view)
  })
}

type ShownExport = ReturnType<typeof shownExport>

function shownExport(
  { id, tenantId, name, every, at, format, keep, created_at, paused }: Export,
  { last, error, failures, retryAtMs }: ExportState,
  segment: string | undefined,
  { place, zone }: { readonly place: string; readonly zone: string },
) {
  const activity = paused === undefined ? 'active' : `paused: ${paused.reason || 'by a person'}`
  return {
    ...{ export_id: id, tenant_id: tenantId, name, segment: segment ?? null, every, at, format, keep },
    ...{ place, folder: exportFolder(tenantId, name), created_at, paused: paused ?? null },
    last:
      last === undefined
        ? null
        : { key: last.key, written_at: iso(last.atMs), rows: last.rows, bytes: last.bytes, took_ms: last.tookMs },
    error:
      error === undefined ? null : { at: iso(error.atMs), message: error.message, failures, retry_at: iso(retryAtMs) },
    schedule: `${every === 'day' ? 'every day' : 'every Monday'} at ${at} ${zone}`,
    state: error === undefined ? activity : `failed: ${error.message}`,
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
