import type { LetterCopy, PullCopy, TenantCopy } from '../../../../schemas/backup.ts'
import { LANES } from '../../../pipeline/declaration/lane.ts'
import { type Pipeline, streamsOf } from '../../../pipeline/declaration/pipeline.ts'
import { identityOf, NO_IDENTITY, partitionOf } from '../../../pipeline/event/envelope.ts'
import { columnOf } from '../../../pipeline/event/row.ts'
import { addPullCopy } from '../../../pipeline/sources/pulls/redis/pull-copies.ts'
import { FIRST_ID_FIELD } from '../../../pipeline/streams/dead-letter.ts'
import { claimIdOfNoEntry, type RawEntry } from '../../../pipeline/streams/entries.ts'
import { type SeenClaim, seedClaims } from '../../../pipeline/streams/seen-claims.ts'
import { agreeOnPartitions } from '../../../pipeline/streams/topology.ts'
import type { Clock } from '../../../run/clock.ts'
import { numbered } from '../../../run/counted.ts'
import { UnavailableError } from '../../../run/errors.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { counterFields, keys } from '../../../stores/redis/keys.ts'
import { Membership, type ShareLease } from '../../../stores/redis/membership.ts'
import { connectedAs } from '../../../stores/redis/nodes.ts'
import { readMark, removeMark, writeMark } from '../../../stores/redis/restore-mark.ts'
import { TenantCopies } from '../../../tenants/redis/tenant-copies.ts'
import { DeadLetters, type StoredLetter } from '../../dead-letters/dead-letters.ts'
import { BackupRefusedError, type RecordTarget, type StoredEvent } from '../ports.ts'
import { carriesEvents, letterOf } from './letter.ts'

/** Longer than a lease whose holder was killed. */
const LEASE_WAIT_MS = 5_000
/** Connections of commands write nothing by themselves. */
const CLI_NAME = 'ipid:cli'

/** Fills Redis for a restore. */
export class RedisRecordTarget implements RecordTarget {
  readonly windowMs: number
  readonly #client: RedisClient
  readonly #pipeline: Pipeline
  readonly #clock: Clock
  readonly #lease: ShareLease
  readonly #tenants: TenantCopies
  #partitions = 0
  /** The number of partitions in the backup. */
  #before = 0

  constructor(client: RedisClient, pipeline: Pipeline, clock: Clock) {
    this.#client = client
    this.#pipeline = pipeline
    this.#clock = clock
    this.windowMs = pipeline.limits.dedupWindowMs
    this.#lease = new Membership({ client, name: 'restore' }).share(0)
    this.#tenants = new TenantCopies(client, clock)
  }

  async begin(backupId: string, filledTable: string | undefined): Promise<boolean> {
    if (!(await this.#lease.acquire(AbortSignal.timeout(LEASE_WAIT_MS)))) {
      throw new UnavailableError('another restore is running here')
    }
    const mark = await readMark(this.#client)
    if (mark !== undefined && mark.backup_id !== backupId) {
      throw new BackupRefusedError(
        'a restore of another backup did not finish here: restore that one, or start with empty stores',
      )
    }
    await this.#assertNotInUse()
    if (mark !== undefined) return true
    const found = (await this.#found()) ?? (filledTable === undefined ? undefined : `rows in table ${filledTable}`)
    if (found !== undefined)
      throw new BackupRefusedError(`a restore needs an empty instance, but this one has ${found}`)
    await writeMark(this.#client, { backup_id: backupId })
    return false
  }

  /** A running role would not notice the mark. */
  async #assertNotInUse(): Promise<void> {
    const other = await connectedAs(this.#client, CLI_NAME)
    if (other === undefined) return
    throw new BackupRefusedError(`an ipid is connected to this Redis (as ${other}): stop it first`)
  }

  /** Describes data that shows that the instance was in use. */
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

  async fixPartitions(
    partitions: number,
    backup: { readonly partitions: number; readonly sinceMs: number },
  ): Promise<void> {
    await agreeOnPartitions(this.#client, partitions)
    const sinceMs = partitions === backup.partitions ? backup.sinceMs : this.#clock.now()
    if (sinceMs > 0) await this.#client.set(keys.partitionsSince(), sinceMs)
    this.#partitions = partitions
    this.#before = backup.partitions
  }

  async addTenants(tenants: readonly TenantCopy[]): Promise<void> {
    this.#lease.assertHeld()
    for (const tenant of tenants) await this.#tenants.add(tenant)
  }

  async addPulls(pulls: readonly PullCopy[]): Promise<void> {
    this.#lease.assertHeld()
    for (const pull of pulls) await addPullCopy(this.#client, pull)
  }

  async clearLetters(): Promise<void> {
    this.#lease.assertHeld()
    for (let partition = 0; partition < Math.max(this.#before, this.#partitions); partition++) {
      await this.#client.del(keys.dead(partition), keys.deadCopy(partition))
    }
  }

  /** Letters keep their ids, which hold their time. Their events stay claimed. */
  async addLetters(letters: readonly LetterCopy[]): Promise<void> {
    this.#lease.assertHeld()
    for (const { partition, id, fields } of letters) {
      const bytes = fields.map((field) => Buffer.from(field, 'base64'))
      await this.#client.callBuffer('XADD', keys.dead(partition), id, ...bytes)
    }
    const claims = letters.flatMap((letter) => this.#claimOf(letter))
    await seedClaims(this.#client, claims, this.windowMs)
  }

  /**
   * A stream takes ids in ascending order only. So this merges the letters of all partitions, oldest first, into a copy per
   * new partition, and then renames the copies. After a kill, the next restore adds all letters again.
   */
  async placeLetters(): Promise<void> {
    if (this.#before === this.#partitions) return
    const client = this.#client
    for await (const letter of new DeadLetters(client, this.#pipeline, this.#before).letters({}, 'oldest first')) {
      this.#lease.assertHeld()
      const [source, entry] = [keys.dead(letter.partition), letter.id.slice(letter.id.indexOf(':') + 1)]
      const [raw] = (await client.callBuffer('XRANGE', source, entry, entry)) as RawEntry[]
      const fields = [...raw![1]!, ...(letter.firstId === letter.id ? [FIRST_ID_FIELD, letter.id] : [])]
      await client.call('XADD', keys.deadCopy(this.#homeOf(letter)), `${letter.atMs}-*`, ...fields)
      await client.xdel(source, entry)
    }
    for (let partition = 0; partition < Math.max(this.#before, this.#partitions); partition++) {
      const copy = keys.deadCopy(partition)
      if ((await client.exists(copy)) === 1) await client.rename(copy, keys.dead(partition))
      else await client.del(keys.dead(partition))
    }
  }

  /** The partition of the letter's event, where its repeats go too. A letter without an event keeps its partition if it can. */
  #homeOf({ block, stream, partition }: Pick<StoredLetter, 'block' | 'stream' | 'partition'>): number {
    if (this.#before === this.#partitions) return partition
    const identity = block?.identities.toString('latin1') ?? NO_IDENTITY
    const isEvent = identity.length === NO_IDENTITY.length && identity !== NO_IDENTITY
    if (isEvent && carriesEvents(this.#pipeline, stream)) return partitionOf(identity, this.#partitions)
    return partition % this.#partitions
  }

  #claimOf(letter: LetterCopy): SeenClaim[] {
    const { block, stream } = letterOf(letter)
    if (letter.claim === null || block === undefined) return []
    const partition = this.#homeOf({ block, stream, partition: letter.partition })
    return [{ partition, identity: block.identities, claimId: Buffer.from(letter.claim, 'base64') }]
  }

  eventOf(letter: LetterCopy): Pick<StoredEvent, 'tenantId' | 'eventId'> | undefined {
    const { stream, block } = letterOf(letter)
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
        claimId: claimIdOfNoEntry(Math.min(receivedAtMs, nowMs)),
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
