import { randomBytes } from 'node:crypto'
import { EXPORT_LIMITS, EXPORT_NAME, EXPORT_TIME, type ExportFormat, type ExportPeriod } from '../../schemas/limits.ts'
import { Segments } from '../companies/segments/segments.ts'
import type { Clock } from '../run/clock.ts'
import { InputError } from '../run/errors.ts'
import type { RedisClient } from '../stores/redis/connect.ts'
import { type Export, RedisExports } from './redis/export-store.ts'

/** A new export, as a person describes it. */
export interface NewExport {
  readonly name: string
  /** Name of a segment. */
  readonly segment: string
  readonly every: ExportPeriod
  /** HH:MM, in the zone of the tenant. */
  readonly at: string
  readonly format: ExportFormat
  readonly keep: number
}

/**
 * Manages the exports of a tenant. Methods throw `InputError` with a one-line reason when the request is invalid, and `UnavailableError`
 * when the store is down.
 */
export class ExportAdmin {
  readonly exports: RedisExports
  readonly #segments: Segments
  readonly #clock: Clock

  constructor(client: RedisClient, clock: Clock) {
    this.exports = new RedisExports(client)
    this.#segments = new Segments(client, clock)
    this.#clock = clock
  }

  async named(tenantId: string, name: string): Promise<Export> {
    const all = await this.exports.list(tenantId)
    const found = all.find((one) => one.name === name)
    if (found !== undefined) return found
    const names = all.map((one) => one.name).join(', ') || 'none'
    throw new InputError(`tenant ${tenantId} has no export ${JSON.stringify(name)}; it has ${names}`)
  }

  /** @throws InputError when there is none */
  async get(tenantId: string, id: string): Promise<Export> {
    const found = await this.exports.get(tenantId, id)
    if (found === undefined) throw new InputError('there is no such export any more')
    return found
  }

  async create(tenantId: string, { name, segment, every, at, format, keep }: NewExport): Promise<Export> {
    if (!new RegExp(EXPORT_NAME).test(name)) {
      const allowed = '1 to 64 letters, digits, - and _, because it names a folder'
      throw new InputError(`an export's name must be ${allowed}`, { field: 'name' })
    }
    if (!new RegExp(EXPORT_TIME).test(at)) {
      throw new InputError(`${JSON.stringify(at)} is no time of day: write HH:MM, such as 06:00`, {
        field: 'at',
      })
    }
    if (keep < 1 || keep > EXPORT_LIMITS.keepMax)
      throw new InputError(`an export keeps 1 to ${EXPORT_LIMITS.keepMax} files`, { field: 'keep' })
    const { id: segmentId } = await this.#segments.named(tenantId, segment)
    const createdAt = this.#now()
    return await this.exports.create({
      ...{ id: `export_${randomBytes(6).toString('hex')}`, tenantId, name, segment_id: segmentId },
      ...{ every, at, format, keep, created_at: createdAt, active_since: createdAt },
    })
  }

  async pause({ tenantId, id }: Export): Promise<Export> {
    return await this.#change(tenantId, id, { paused: { at: this.#now(), by: 'person', reason: '' } })
  }

  /** Times during the pause are not made up. */
  async resume({ tenantId, id }: Export): Promise<Export> {
    return await this.#change(tenantId, id, { paused: null, active_since: this.#now() })
  }

  async #change(tenantId: string, id: string, change: Parameters<RedisExports['change']>[2]): Promise<Export> {
    const changed = await this.exports.change(tenantId, id, change)
    if (changed === undefined) throw new InputError('there is no such export any more')
    return changed
  }

  /** Requests a file now, also while the export is paused. @returns the time of the request, see `ExportState.askedMs` */
  run({ id }: Export): Promise<number> {
    return this.exports.ask(id, this.#clock.now())
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString()
  }
}
