import type { LetterCopy, TenantCopy } from '../../../../schemas/backup.ts'
import { LANES } from '../../../pipeline/declaration/lane.ts'
import { type Pipeline, streamsOf } from '../../../pipeline/declaration/pipeline.ts'
import { identityOf, partitionOf } from '../../../pipeline/event/envelope.ts'
import { columnOf } from '../../../pipeline/event/row.ts'
import { ownerOfNobody } from '../../../pipeline/streams/owner.ts'
import { type SeenClaim, seedClaims } from '../../../pipeline/streams/seen-claims.ts'
import { agreeOnPartitions } from '../../../pipeline/streams/topology.ts'
import type { Clock } from '../../../run/clock.ts'
import { numbered } from '../../../run/counted.ts'
import { UnavailableError } from '../../../run/errors.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { counterFields, keys } from '../../../stores/redis/keys.ts'
import { Lease } from '../../../stores/redis/lease.ts'
import { connectedAs } from '../../../stores/redis/other-processes.ts'
import { readMark, removeMark, writeMark } from '../../../stores/redis/restore-mark.ts'
import { TenantCopies } from '../../../tenants/redis/tenant-copies.ts'
import { BackupRefusedError, type RecordTarget, type StoredEvent } from '../ports.ts'
import { carriesEvents, readLetter } from './letter.ts'

/** Longer than a lease whose owner was killed. */
const LEASE_WAIT_MS = 5_000
/** Connections of the command line write nothing by themselves. */
const CLI_NAME = 'ipid:cli'

/** Redis, as a restore fills it. */
export class RedisRecordTarget implements RecordTarget {
  readonly windowMs: number
  readonly #client: RedisClient
  readonly #pipeline: Pipeline
  readonly #clock: Clock
  readonly #lease: Lease
  readonly #tenants: TenantCopies
  #partitions = 0

  constructor(client: RedisClient, pipeline: Pipeline, clock: Clock) {
    this.#client = client
    this.#pipeline = pipeline
    this.#clock = clock
    this.windowMs = pipeline.limits.dedupWindowMs
    this.#lease = new Lease(client, 'restore')
    this.#tenants = new TenantCopies(client, clock)
  }

  async begin(backupId: string, filledTable: string | undefined): Promise<boolean> {
    if (!(await this.#lease.acquire(AbortSignal.timeout(LEASE_WAIT_MS)))) {
      throw new UnavailableError('another restore is running here')
    }
    const mark = await readMark(this.#client)
    if (mark !== undefined && mark.backup_id !== backupId) {
      throw new BackupRefusedError(
        'a restore of another backup was not finished here: restore that one, or begin with empty stores',
      )
    }
    await this.#assertNotInUse()
    if (mark !== undefined) return true
    const found = (await this.#found()) ?? (filledTable === undefined ? undefined : `rows in table ${filledTable}`)
    if (found !== undefined)
      throw new BackupRefusedError(`a backup is restored into an empty instance, and here there are ${found}`)
    await writeMark(this.#client, { backup_id: backupId })
    return false
  }

  /** A role that runs would not see the mark. */
  async #assertNotInUse(): Promise<void> {
    const other = await connectedAs(this.#client, CLI_NAME)
    if (other === undefined) return
    throw new BackupRefusedError(`an ipid is connected to this Redis (as ${other}): stop it first`)
  }

  /** What an instance that was in use has. */
  async #found(): Promise<string | undefined> {
    const tenants = await this.#client.hlen(keys.tenants())
    if (tenants > 0) return numbered(tenants, 'tenant')
    const partitions = Number((await this.#client.get(keys.partitions())) ?? 0)
    for (let partition = 0; partition < partitions; partition++) {
      if ((await this.#client.xlen(keys.dead(partition))) > 0) return 'dead letters'
      const added = streamsOf(this.#pipeline).flatMap((stream) =>
        LANES.map((lane) => counterFields.added(stream, lane, 'events')),
      )
      const counts = await this.#client.hmget(keys.counters(partition), ...added)
      if (counts.some((count) => Number(count ?? 0) > 0)) return 'events'
    }
    return undefined
  }

  async fixPartitions(partitions: number, sinceMs: number): Promise<void> {
    await agreeOnPartitions(this.#client, partitions)
    if (sinceMs > 0) await this.#client.set(keys.partitionsSince(), sinceMs)
    this.#partitions = partitions
  }

  async addTenants(tenants: readonly TenantCopy[]): Promise<void> {
    this.#lease.assertHeld()
    for (const tenant of tenants) await this.#tenants.add(tenant)
  }

  async clearLetters(): Promise<void> {
    this.#lease.assertHeld()
    for (let partition = 0; partition < this.#partitions; partition++) await this.#client.del(keys.dead(partition))
  }

  /** Letters keep their ids, and with them the time at which they were given up. Their events stay claimed. */
  async addLetters(letters: readonly LetterCopy[]): Promise<void> {
    this.#lease.assertHeld()
    for (const { partition, id, fields } of letters) {
      const bytes = fields.map((field) => Buffer.from(field, 'base64'))
      await this.#client.callBuffer('XADD', keys.dead(partition), id, ...bytes)
    }
    await seedClaims(this.#client, letters.flatMap(claimOf), this.windowMs)
  }

  eventOf(letter: LetterCopy): Pick<StoredEvent, 'tenantId' | 'eventId'> | undefined {
    const { stream, block } = readLetter(letter)
    if (block === undefined || !carriesEvents(this.#pipeline, stream)) return undefined
    const [tenantId] = columnOf(block, 'tenant_id')
    const [eventId] = columnOf(block, 'event_id')
    return tenantId && eventId ? { tenantId, eventId } : undefined
  }

  async remember(events: readonly StoredEvent[]): Promise<void> {
    this.#lease.assertHeld()
    const nowMs = this.#clock.now()
    const claims = events.map(({ tenantId, eventId, receivedAtMs }) => {
      const identity = identityOf(tenantId, eventId)
      return {
        partition: partitionOf(identity, this.#partitions),
        identity: Buffer.from(identity, 'latin1'),
        owner: ownerOfNobody(Math.min(receivedAtMs, nowMs)),
      }
    })
    await seedClaims(this.#client, claims, this.windowMs)
  }

  async end(): Promise<void> {
    this.#lease.assertHeld()
    await removeMark(this.#client)
  }

  close(): Promise<void> {
    return this.#lease.release()
  }
}

function claimOf(letter: LetterCopy): SeenClaim[] {
  const { block } = readLetter(letter)
  if (letter.claim === null || block === undefined) return []
  return [{ partition: letter.partition, identity: block.identities, owner: Buffer.from(letter.claim, 'base64') }]
}
