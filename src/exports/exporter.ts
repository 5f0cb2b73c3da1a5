import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { CountedCompany } from '../../schemas/companies.ts'
import type { OwnColumn } from '../../schemas/facts.ts'
import { apiCompany } from '../companies/api-company.ts'
import { companiesCsv } from '../companies/csv.ts'
import type { Segments } from '../companies/segments/segments.ts'
import { parseWhere } from '../companies/where.ts'
import type { Clock } from '../run/clock.ts'
import { LeaseLostError } from '../run/errors.ts'
import { LeasedService } from '../run/leased-service.ts'
import type { DelayBounds } from '../run/loop.ts'
import { PASSING } from '../run/passing.ts'
import { timeLimit } from '../run/time-limit.ts'
import type { ObjectStore } from '../stores/objects/object-store.ts'
import type { ShareLease } from '../stores/redis/membership.ts'
import { type Tenant, zoneOfTenant } from '../tenants/tenancy.ts'
import type { Export, ExportedFile, ExportFailure, ExportRun, ExportState, RedisExports } from './redis/export-store.ts'
import { exportFolder, exportKey, isExportFile, openDue, retryDelayMs } from './schedule.ts'

interface ExporterOptions {
  readonly lease: ShareLease
  readonly exports: RedisExports
  readonly segments: Pick<Segments, 'get'>
  /** All companies that a filter keeps, in portions. */
  readonly rows: (
    tenantId: string,
    filter: ReturnType<typeof parseWhere>,
    left: AbortSignal,
  ) => AsyncIterable<readonly CountedCompany[]>
  readonly ownColumns: (tenantId: string) => Promise<readonly OwnColumn[]>
  readonly store: ObjectStore
  /** Folder of files that are not complete yet. */
  readonly spoolDir: string
  readonly getTenant: (id: string) => Promise<Tenant | undefined>
  readonly clock: Clock
  readonly log: Logger
  readonly onAttempt?: (result: 'done' | 'failed') => void
}

const LOOK_EVERY_MS = 1_000
const LOOP_DELAY: DelayBounds = { minMs: 250, maxMs: 5_000 }
/** Reads and writes one file. */
const ATTEMPT_MS = 900_000
const ERROR_MAX_CHARS = 500
/** Attempts that the state of an export keeps. */
const RUNS_MAX = 20

/**
 * Writes the files of exports that are due. One process at a time does this, under a lease. A file is complete in `spoolDir` before it is
 * put into the object store, which shows it only whole. Its key is made of the due time, so a repeat after a crash replaces it.
 */
export class Exporter extends LeasedService {
  readonly #options: ExporterOptions

  constructor(options: ExporterOptions) {
    const problem = 'exports are not written at the moment; they are made up later'
    super({ ...options, name: 'exporter', delay: LOOP_DELAY, problem })
    this.#options = options
  }

  protected override async takeOver(): Promise<void> {
    const { lease, exports, store, spoolDir } = this.#options
    // Left by a killed process.
    await rm(spoolDir, { recursive: true, force: true })
    const left = await exports.attempt()
    if (left === undefined) return
    // Its file may have come after the files of its tenant were removed.
    if (await this.#isGone(left.tenantId)) await store.delete(left.key)
    await exports.setAttempt(lease, undefined)
  }

  async #isGone(tenantId: string): Promise<boolean> {
    const tenant = await this.#options.getTenant(tenantId)
    return tenant === undefined || tenant.deleting === true
  }

  /** Writes at most one file for each tenant, so that none waits for all files of another one. */
  protected override async round(): Promise<number> {
    const { exports } = this.#options
    let isMore = false
    const failures: unknown[] = []
    for (const tenantId of await exports.tenants()) {
      if (this.signal.aborted) break
      try {
        if (await this.#isGone(tenantId)) await exports.removeAll(tenantId)
        else if (await this.#turn(tenantId)) isMore = true
      } catch (error) {
        if (error instanceof LeaseLostError) throw error
        // The other tenants get their files all the same.
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
    return isMore ? 0 : LOOK_EVERY_MS
  }

  /** @returns whether it tried an export */
  async #turn(tenantId: string): Promise<boolean> {
    const { exports, getTenant, clock } = this.#options
    const zone = zoneOfTenant(await getTenant(tenantId))
    for (const one of await exports.list(tenantId)) {
      const [state, askedMs] = await Promise.all([exports.state(one.id), exports.asked(one.id)])
      const nowMs = clock.now()
      const dueMs = openDue(one, state, nowMs, zone)
      if (dueMs !== undefined && nowMs >= state.retryAtMs) await this.#attempt(one, { ...state, dueMs }, state, dueMs)
      else if (askedMs > state.askedMs) await this.#attempt(one, { ...state, askedMs }, { ...state, askedMs }, askedMs)
      else continue
      return true
    }
    return false
  }

  /**
   * @param done the state after a success
   * @param failed the state after a failure, without its delay
   */
  async #attempt(one: Export, done: ExportState, failed: ExportState, atMs: number): Promise<void> {
    const { lease, exports, store, clock, log, onAttempt } = this.#options
    const key = exportKey(one.tenantId, one, atMs)
    // Before the tenant is read: its deletion waits for a noted attempt.
    await exports.setAttempt(lease, { tenantId: one.tenantId, exportId: one.id, key })
    try {
      const last = await this.#write(one, key, timeLimit(ATTEMPT_MS, this.signal))
      if (await this.#isGone(one.tenantId)) await store.delete(key)
      else if (last !== undefined) await this.#trim(one)
      await exports.settle(lease, one, {
        ...{ ...done, failures: 0, retryAtMs: 0, error: undefined },
        ...(last && { last, runs: withRun(done, last) }),
      })
      if (last === undefined) return
      onAttempt?.('done')
      log.info(
        { tenant_id: one.tenantId, export: one.name, key, rows: last.rows, bytes: last.bytes },
        'an export is written',
      )
    } catch (err) {
      if (err instanceof LeaseLostError || this.signal.aborted) throw err
      const failures = failed.failures + 1
      const message = (err as Error).message.slice(0, ERROR_MAX_CHARS)
      const error: ExportFailure = { atMs: clock.now(), message }
      const retryAtMs = error.atMs + retryDelayMs(failures)
      await exports.settle(lease, one, { ...failed, failures, retryAtMs, error, runs: withRun(failed, error) })
      onAttempt?.('failed')
      log.warn({ err, tenant_id: one.tenantId, export: one.name, ...PASSING }, 'an export is tried again later')
    }
  }

  /** @returns undefined when there is nothing to write any more */
  async #write(one: Export, key: string, signal: AbortSignal): Promise<ExportedFile | undefined> {
    const { lease, exports, segments, rows, ownColumns, store, spoolDir, clock, log } = this.#options
    if (await this.#isGone(one.tenantId)) return undefined
    const beganMs = clock.now()
    const segment = await segments.get(one.tenantId, one.segment_id)
    if (segment === undefined) {
      const reason = 'its segment was removed'
      const paused = { at: new Date(beganMs).toISOString(), by: 'limit', reason } as const
      await exports.change(one.tenantId, one.id, { paused })
      log.warn({ tenant_id: one.tenantId, export: one.name, reason }, 'an export is paused')
      return undefined
    }
    await mkdir(spoolDir, { recursive: true, mode: 0o700 })
    const path = join(spoolDir, randomUUID())
    try {
      const written = { rows: 0, bytes: 0 }
      const md5 = createHash('md5')
      const file = await open(path, 'wx', 0o600)
      try {
        const counted = (async function* () {
          for await (const portion of rows(one.tenantId, parseWhere(segment.where), signal)) {
            written.rows += portion.length
            yield portion
          }
        })()
        const texts = one.format === 'csv' ? companiesCsv(counted, () => ownColumns(one.tenantId)) : ndjson(counted)
        for await (const text of texts) {
          const bytes = Buffer.from(text)
          md5.update(bytes)
          await file.appendFile(bytes)
          written.bytes += bytes.length
        }
      } finally {
        await file.close()
      }
      signal.throwIfAborted()
      lease.assertHeld()
      if ((await exports.get(one.tenantId, one.id)) === undefined || (await this.#isGone(one.tenantId)))
        return undefined
      await store.prepare()
      const contentType = one.format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson'
      await store.putFile(key, path, { bytes: written.bytes, md5: md5.digest('base64'), contentType })
      return { key, atMs: clock.now(), tookMs: clock.now() - beganMs, ...written }
    } finally {
      await rm(path, { force: true })
    }
  }

  /** Removes the oldest files above the number to keep. */
  async #trim({ tenantId, name, keep }: Export): Promise<void> {
    const { store } = this.#options
    const files: string[] = []
    for await (const { key } of store.list(exportFolder(tenantId, name))) if (isExportFile(key)) files.push(key)
    for (const key of files.sort().slice(0, -keep)) await store.delete(key)
  }
}

function withRun({ runs = [] }: ExportState, run: ExportRun): readonly ExportRun[] {
  return [run, ...runs].slice(0, RUNS_MAX)
}

async function* ndjson(rows: AsyncIterable<readonly CountedCompany[]>): AsyncGenerator<string> {
  for await (const portion of rows) yield portion.map((row) => `${JSON.stringify(apiCompany(row))}\n`).join('')
}
