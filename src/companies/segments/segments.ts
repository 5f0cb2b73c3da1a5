import { randomBytes } from 'node:crypto'
import { SEGMENT_LIMITS, type SegmentRecord } from '../../../schemas/segment.ts'
import type { Clock } from '../../run/clock.ts'
import { readDisplayName } from '../../run/display-name.ts'
import { InputError } from '../../run/errors.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { orUnavailable } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import { assertGivenFilter } from '../filter.ts'
import { formatWhere, parseWhere } from '../where.ts'

const writeScript = loadScript(import.meta.url, './redis/writeSegment-2.lua')

/** A named filter over the companies of a tenant. */
export interface Segment extends SegmentRecord {
  readonly id: string
}

const UNREACHABLE = 'the store of segments does not answer'

/**
 * Segments, in Redis. Methods throw `InputError` with a one-line reason when the request is invalid, and `UnavailableError` when Redis
 * is down.
 */
export class Segments {
  readonly #client: RedisClient
  readonly #clock: Clock

  constructor(client: RedisClient, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  /** Sorted by name. */
  async list(tenantId: string): Promise<Segment[]> {
    const found = await orUnavailable(this.#client.hgetall(keys.segmentsOf(tenantId)), UNREACHABLE)
    return Object.entries(found)
      .map(([id, json]) => ({ ...(JSON.parse(json) as SegmentRecord), id }))
      .sort((a, b) => a.name.localeCompare(b.name, 'en'))
  }

  async get(tenantId: string, id: string): Promise<Segment | undefined> {
    const json = await orUnavailable(this.#client.hget(keys.segmentsOf(tenantId), id), UNREACHABLE)
    return json === null ? undefined : { ...(JSON.parse(json) as SegmentRecord), id }
  }

  /** @throws InputError when there is none */
  async existing(tenantId: string, id: string): Promise<Segment> {
    const segment = await this.get(tenantId, id)
    if (segment === undefined) throw new InputError('there is no such segment any more', { field: 'segment' })
    return segment
  }

  async named(tenantId: string, name: string): Promise<Segment> {
    const all = await this.list(tenantId)
    const found = all.find((segment) => segment.name === name)
    if (found !== undefined) return found
    const names = all.map((segment) => segment.name).join(', ') || 'none'
    throw new InputError(`tenant ${tenantId} has no segment ${JSON.stringify(name)}; it has ${names}`)
  }

  /** @param where as `--where` takes it */
  async create(tenantId: string, name: string, where: string): Promise<Segment> {
    const record: SegmentRecord = {
      name: readName(name),
      where: canonicalWhere(where),
      created_at: this.#now(),
    }
    const id = `segment_${randomBytes(6).toString('hex')}`
    const json = await this.#write(tenantId, [tenantId, id, JSON.stringify(record), SEGMENT_LIMITS.segmentsMax])
    if (json === 0) throw nameTaken(tenantId, record.name)
    if (json === 1) throw new InputError(`a tenant has at most ${SEGMENT_LIMITS.segmentsMax} segments: remove one`)
    if (json === null) throw new InputError(`unknown tenant ${JSON.stringify(tenantId)}`)
    return { ...record, id }
  }

  /** Changes the name or the filter. */
  async change(
    tenantId: string,
    id: string,
    { name, where }: { readonly name?: string | undefined; readonly where?: string | undefined },
  ): Promise<Segment> {
    const change = {
      ...(name !== undefined && { name: readName(name) }),
      ...(where !== undefined && { where: canonicalWhere(where) }),
    }
    const json = await this.#write(tenantId, [tenantId, id, JSON.stringify(change), ''])
    if (json === 0) throw nameTaken(tenantId, change.name!)
    if (json === null) throw new InputError('there is no such segment any more')
    return { ...(JSON.parse(String(json)) as SegmentRecord), id }
  }

  /** @returns whether it existed */
  async remove(tenantId: string, id: string): Promise<boolean> {
    return (await orUnavailable(this.#client.hdel(keys.segmentsOf(tenantId), id), UNREACHABLE)) === 1
  }

  #write(tenantId: string, args: readonly (string | number)[]): Promise<unknown> {
    const written = writeScript.run(this.#client, [keys.tenants(), keys.segmentsOf(tenantId)], [...args, this.#now()])
    return orUnavailable(written, UNREACHABLE)
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString()
  }
}

function readName(text: string): string {
  return readDisplayName(text, "a segment's name", SEGMENT_LIMITS.nameMaxChars, 'name')
}

function nameTaken(tenantId: string, name: string): InputError {
  return new InputError(`tenant ${tenantId} has a segment named ${JSON.stringify(name)}`, { field: 'name' })
}

/** The filter in one spelling. @throws InputError */
function canonicalWhere(text: string): string {
  const filter = parseWhere(text)
  assertGivenFilter(filter)
  const where = formatWhere(filter)
  if (where.length <= SEGMENT_LIMITS.whereMaxChars) return where
  throw new InputError(`the filter is longer than ${SEGMENT_LIMITS.whereMaxChars} characters: give fewer values`)
}
