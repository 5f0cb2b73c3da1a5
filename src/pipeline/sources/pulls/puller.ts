import { mkdir, rm } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { Clock } from '../../../run/clock.ts'
import { type Lease, LeasedService } from '../../../run/leased-service.ts'
import { type DelayBounds, growingDelay } from '../../../run/loop.ts'
import { PASSING } from '../../../run/passing.ts'
import { type SecretBox, SecretError } from '../../../secrets/secret-box.ts'
import type { StoredKey, TenantStore } from '../../../tenants/stores.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import type { BackgroundJobs } from '../../declaration/batch-jobs.ts'
import { type Pull, PullDeniedError, type PullPlace } from '../../declaration/pull.ts'
import type { Proxies } from '../../event/client-address.ts'
import type { RedisPullStore } from './redis/pull-store.ts'
import { firstState, type PullAsk, type PullState, problemAt } from './state.ts'
import { type PulledSource, PullTurn, type TurnEnd } from './turn.ts'

interface PullerOptions {
  readonly lease: Lease
  readonly store: RedisPullStore
  readonly tenants: Pick<TenantStore, 'getKey' | 'getTenant'>
  readonly jobs: BackgroundJobs
  /** Undefined: the pipeline has no such kind. */
  readonly pullOf: (kind: string) => Pull | undefined
  readonly secrets: Pick<SecretBox, 'open'>
  /** Emptied at the start. */
  readonly tempDir: string
  readonly clock: Clock
  readonly log: Logger
  /** See `ReadLineOptions`. */
  readonly trusted?: Proxies | undefined
}

/** Sources that are pulled at once, each of another tenant. Each holds about 20 MB. */
const TURNS_MAX = 4
/** After this time other sources have their turn. */
const TURN_MS = 60_000
const LOOK_EVERY_MS = 1_000
/** How often to look while no source exists. */
const NONE_EVERY_MS = 3_000
const WAIT_MS = 2_000
/** Delay after a failed run. */
const FAILURE_DELAY: DelayBounds = { minMs: 2_000, maxMs: 3_600_000 }
const LOOP_DELAY: DelayBounds = { minMs: 250, maxMs: 5_000 }

/** Pulls the sources of all tenants, on their schedules. One process at a time does this, under a lease. */
export class Puller extends LeasedService {
  readonly #options: PullerOptions
  /** By source id, for the schedule. Undefined: it must be read from Redis again. A turn reads its state from Redis itself. */
  readonly #states = new Map<string, PullState | undefined>()
  readonly #turns = new Map<string, { readonly tenantId: string; readonly ended: Promise<void> }>()
  #halt = new AbortController()

  constructor(options: PullerOptions) {
    const problem = 'pulls failed and will be tried again; nothing is lost'
    super({ ...options, name: 'puller', delay: LOOP_DELAY, problem })
    this.#options = options
  }

  override async stop(): Promise<void> {
    this.#halt.abort()
    await super.stop()
  }

  protected override async takeOver(): Promise<void> {
    const { tempDir } = this.#options
    await rm(tempDir, { recursive: true, force: true })
    await mkdir(tempDir, { recursive: true, mode: 0o700 })
  }

  /** Ends all turns. */
  protected override async settle(): Promise<void> {
    this.#halt.abort()
    await Promise.all([...this.#turns.values()].map(({ ended }) => ended))
    this.#states.clear()
    if (!this.signal.aborted) this.#halt = new AbortController()
  }

  /** Begins the turns of sources that are due, those that wait longest first. */
  protected override async round(): Promise<number> {
    const { store, clock } = this.#options
    const ids = await store.sources()
    for (const id of this.#states.keys()) if (!ids.includes(id) && !this.#turns.has(id)) await this.#forget(id)
    if (ids.length === 0) return NONE_EVERY_MS
    // A turn that ends in this round counts in the next one, once its state is loaded.
    const idle = ids.filter((id) => !this.#turns.has(id))
    await this.#load(idle)
    const asks = await store.asks(idle)
    const nowMs = clock.now()
    const due = idle
      .map((id) => ({
        id,
        ask: openAsk(asks.get(id), this.#states.get(id)),
        atMs: this.#states.get(id)?.nextRunAtMs ?? 0,
      }))
      .filter(({ ask, atMs }) => ask !== undefined || atMs <= nowMs)
      .sort((a, b) => a.atMs - b.atMs)
    for (const { id, ask } of due) {
      if (this.#turns.size >= TURNS_MAX) break
      await this.#begin(id, ask)
    }
    return LOOK_EVERY_MS
  }

  async #load(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      if (this.#states.get(id) !== undefined) continue
      const state = await this.#options.store.state(id)
      if (state !== undefined) this.#states.set(id, state)
    }
  }

  async #begin(id: string, ask: PullAsk | undefined): Promise<void> {
    const key = await this.#options.tenants.getKey(id)
    const source = sourceOf(key)
    if (source === undefined || key?.revokedAt !== undefined) {
      await this.#forget(id)
      return
    }
    const isTaken = [...this.#turns.values()].some(({ tenantId }) => tenantId === source.tenantId)
    if (isTaken || source.pull.paused === true || this.signal.aborted) return
    const { signal } = this.#halt
    const ended = this.#turn(key!, source, ask, signal)
      .catch((err) => {
        if (!signal.aborted)
          this.#options.log.warn({ err, source: id, ...PASSING }, 'a pull failed and will be tried again')
      })
      .finally(() => {
        // The turn has stored later states.
        this.#states.set(id, undefined)
        this.#turns.delete(id)
      })
    this.#turns.set(id, { tenantId: source.tenantId, ended })
  }

  async #turn(key: StoredKey, source: PulledSource, ask: PullAsk | undefined, signal: AbortSignal): Promise<void> {
    const { store, tenants, jobs, clock, pullOf, trusted } = this.#options
    const pull = pullOf(key.source!.kind)
    const tenant = async () => {
      const [now, found] = await Promise.all([tenants.getKey(source.id), tenants.getTenant(source.tenantId)])
      const isOn = now !== undefined && now.revokedAt === undefined && now.source?.pull?.paused !== true
      return isOn && found !== undefined && found.deleting !== true ? (found as Tenant) : undefined
    }
    if (pull === undefined || (await tenant()) === undefined) return
    const begun = (await store.state(source.id)) ?? firstState(pull, Date.parse(key.createdAt))
    const state: PullState = {
      ...withAsk(begun, pull, ask),
      runningSinceMs: begun.runningSinceMs ?? clock.now(),
      waitsFor: undefined,
    }
    await store.writeState(source.id, state)
    const place = this.#open(key, source, pull)
    if (place instanceof Error) {
      await this.#end(source, state, { end: 'failed', error: place, isDenied: true }, signal)
      return
    }
    // Ends requests that wait for an answer.
    const close = () => void place.close()
    signal.addEventListener('abort', close)
    try {
      const untilMs = performance.now() + TURN_MS
      const isAsked = ask !== undefined
      const turn = new PullTurn({ source, state, place, tenant, store, jobs, clock, signal, isAsked, untilMs, trusted })
      const end = await turn.run()
      await this.#end(source, turn.state, end, signal)
    } finally {
      signal.removeEventListener('abort', close)
      await place.close()
    }
  }

  /** An error: its secrets cannot be read. */
  #open({ source: facts, prefix }: StoredKey, { pull: { settings } }: PulledSource, pull: Pull): PullPlace | Error {
    const { secrets: box, tempDir, clock } = this.#options
    try {
      const secrets = facts!.secret ? (JSON.parse(box.open(facts!.secret, prefix)) as Record<string, string>) : {}
      return pull.open({ settings, secrets, tempDir, nowMs: () => clock.now() })
    } catch (error) {
      const { message } = error as Error
      return new PullDeniedError(error instanceof SecretError ? `the secret of the source ${message}` : message)
    }
  }

  async #end({ id, pull }: PulledSource, state: PullState, end: TurnEnd, signal: AbortSignal): Promise<void> {
    // The next process finds that the source is in its run, and continues it at once.
    if (signal.aborted) return
    const { store, clock, log } = this.#options
    const nowMs = clock.now()
    const over = { runningSinceMs: undefined, waitsFor: undefined, lastRunAtMs: nowMs }
    if (end.end === 'done') {
      await store.writeState(id, {
        ...state,
        ...over,
        nextRunAtMs: nowMs + pull.every_ms,
        failures: 0,
        stuck: undefined,
      })
    } else if (end.end === 'more') {
      await store.writeState(id, { ...state, nextRunAtMs: nowMs })
    } else if (end.end === 'waits') {
      await store.writeState(id, { ...state, waitsFor: end.reason, nextRunAtMs: nowMs + WAIT_MS })
    } else if (end.end === 'failed') {
      const failures = state.failures + 1
      const nextRunAtMs = Math.round(nowMs + growingDelay(failures - 1, FAILURE_DELAY))
      const error = problemAt(end.error.message, nowMs)
      await store.writeState(id, { ...state, ...over, failures, error, nextRunAtMs })
      const facts = { source: id, reason: end.error.message, failures, ...(!end.isDenied && PASSING) }
      log.warn(facts, 'a source cannot be pulled, and is tried again')
    }
  }

  /** Removes a source that no longer exists or was revoked. */
  async #forget(id: string): Promise<void> {
    this.#states.delete(id)
    await this.#options.store.forget(id)
  }
}

/** Undefined: it was taken up already. */
function openAsk(ask: PullAsk | undefined, state: PullState | undefined): PullAsk | undefined {
  return ask?.id === state?.asked ? undefined : ask
}

function withAsk(state: PullState, pull: Pull, ask: PullAsk | undefined): PullState {
  if (ask === undefined) return state
  const cursor = ask.from === undefined ? undefined : pull.withPast(state.cursor, Date.parse(ask.from))
  return { ...state, asked: ask.id, cursor: cursor ?? state.cursor }
}

function sourceOf(key: StoredKey | undefined): PulledSource | undefined {
  const pull = key?.source?.pull
  return pull === undefined ? undefined : { id: key!.prefix, tenantId: key!.tenantId, pull }
}
