import { Resolver } from 'node:dns/promises'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { type Address, ownText } from '../../../pipeline/event/address.ts'
import type { Hostnames } from '../../../pipeline/event/enrichment.ts'
import type { Clock } from '../../../run/clock.ts'
import type { Service } from '../../../run/service.ts'
import { withResolvers } from '../../../run/with-resolvers.ts'
import { judgedAddress } from '../../addresses/judged.ts'
import { ReservedRanges } from '../../addresses/reserved.ts'
import { BoundedCache } from '../../bounded-cache.ts'
import { type Facts, makeFacts } from '../../facts.ts'
import { askHostname, type HostnameAnswer } from './ask.ts'
import { DEFAULT_REVERSE_DNS_LIMITS, type ReverseDnsLimits } from './limits.ts'
import { type ReverseDnsMetrics, reverseDnsMetrics } from './metrics.ts'

interface ReverseDnsOptions {
  /** Name servers, `address` or `address:port`; undefined for those of the machine. */
  readonly servers: readonly string[] | undefined
  readonly clock: Clock
  readonly metrics: Registry
  readonly log: Logger
  readonly limits?: Partial<ReverseDnsLimits>
}

/** A cached answer. */
interface KnownHostname {
  /** The name as a provider's record; undefined when the address has no confirmed name. */
  readonly facts: Facts | undefined
  readonly expiresAtMs: number
}

/** A running or waiting query. All callers with the same address share it. */
interface Query {
  readonly address: Address
  readonly takenAtMs: number
  readonly done: Promise<void>
  readonly finish: () => void
}

const NEVER_QUERIED: KnownHostname = { facts: undefined, expiresAtMs: Number.POSITIVE_INFINITY }

/**
 * Forward-confirmed reverse names from name servers, with a cache. There is one query per address at a time; queries over
 * the limits are refused. Reserved addresses are never queried. For an address that embeds an IPv4 address
 * (`judgedAddress`), the query is for that one. A failure (time-out, SERVFAIL) is not cached as "no name". While name
 * servers are silent, callers do not wait.
 */
export class ReverseDns implements Service, Hostnames {
  readonly name = 'reverse-dns'
  readonly #servers: readonly string[] | undefined
  readonly #clock: Clock
  readonly #limits: ReverseDnsLimits
  readonly #metrics: ReverseDnsMetrics
  readonly #log: Logger
  readonly #silence: Silence
  readonly #reserved = new ReservedRanges()
  readonly #known: BoundedCache<string, KnownHostname>
  /** Addresses whose name servers failed, with the end of their pause. */
  readonly #failed: BoundedCache<string, { readonly untilMs: number }>
  readonly #queries = new Map<string, Query>()
  readonly #queue: Query[] = []
  /** Each running query has a resolver of its own, because `cancel` ends all queries of a resolver. */
  readonly #idle: Resolver[] = []
  readonly #busy = new Set<Resolver>()
  #stopped = false

  constructor(options: ReverseDnsOptions) {
    this.#servers = options.servers
    this.#clock = options.clock
    this.#limits = { ...DEFAULT_REVERSE_DNS_LIMITS, ...options.limits }
    this.#log = options.log
    this.#silence = new Silence(this.#limits)
    this.#known = new BoundedCache(this.#limits.answersMax)
    this.#failed = new BoundedCache(this.#limits.answersMax)
    this.#metrics = reverseDnsMetrics(options.metrics, {
      waiting: () => this.#queries.size,
      remembered: () => this.#known.size,
      silent: () => this.#silence.isOn,
    })
  }

  /** Does nothing: the first query creates a resolver. */
  async start(): Promise<void> {}

  /** Cancels all queries. Callers continue without a host name. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const query of this.#queue.splice(0)) this.#end(query)
    for (const resolver of this.#busy) resolver.cancel()
  }

  /** The cached answer; undefined when a query is needed. Reserved addresses have no name. */
  known(address: Address): KnownHostname | undefined {
    const known = this.#known.get(judgedAddress(address).text)
    if (known !== undefined && known.expiresAtMs > this.#clock.now()) return known
    return this.#reserved.find(address) === undefined ? undefined : NEVER_QUERIED
  }

  /**
   * Queries an address and waits for at most `deadlineMs`. A later answer is still cached.
   * @param deadlineMs default: `deadlineMs` of the limits
   * @returns undefined without an answer by the deadline
   */
  async find(address: Address, deadlineMs = this.#limits.deadlineMs): Promise<KnownHostname | undefined> {
    const known = this.known(address)
    if (known !== undefined) return known
    await within(deadlineMs, this.#query(address))
    return this.known(address)
  }

  async prefetch(addresses: readonly Address[]): Promise<void> {
    const unknown = addresses.filter((address) => this.known(address) === undefined)
    const queries = unknown.map((address) => this.#query(address))
    if (queries.length > 0) await within(this.#limits.deadlineMs, Promise.all(queries))
  }

  /** Resolves when the query has ended in any way, or at once while name servers are silent. */
  #query(sent: Address): Promise<unknown> {
    const address = judgedAddress(sent)
    const running = this.#queries.get(address.text)
    if (running !== undefined) return running.done
    const now = this.#clock.now()
    if (this.#stopped || (this.#failed.get(address.text)?.untilMs ?? 0) > now) return Promise.resolve()
    if (this.#queue.length >= this.#limits.queueMax) {
      this.#metrics.asked('refused')
      return Promise.resolve()
    }
    if (!this.#silence.mayAsk(now)) {
      this.#metrics.asked('silent')
      return Promise.resolve()
    }
    const { promise: done, resolve: finish } = withResolvers()
    const query: Query = { address, takenAtMs: now, done, finish }
    this.#queries.set(address.text, query)
    this.#queue.push(query)
    if (this.#silence.isOn) finish()
    this.#next()
    return done
  }

  #next(): void {
    while (this.#queue.length > 0 && this.#busy.size < this.#limits.concurrencyMax) {
      const query = this.#queue.shift()!
      const leftMs = query.takenAtMs + this.#limits.askMaxMs - this.#clock.now()
      if (leftMs > 0) {
        void this.#run(query, leftMs)
        continue
      }
      this.#metrics.asked('refused')
      this.#end(query)
    }
  }

  async #run(query: Query, leftMs: number): Promise<void> {
    const { address } = query
    const resolver = this.#idle.pop() ?? this.#createResolver()
    this.#busy.add(resolver)
    const overtime = setTimeout(() => resolver.cancel(), leftMs)
    let isAnswered = false
    const answered = () => {
      isAnswered = true
      if (this.#silence.answered()) this.#log.info('name servers answer again')
    }
    try {
      const answer = await askHostname(resolver, address, this.#limits.namesMax, answered)
      this.#known.get(address.text)
      this.#known.set(ownText(address), this.#cacheEntry(answer))
      this.#metrics.asked(answer.hostname === undefined ? 'none' : 'found')
    } catch {
      this.#failed.get(address.text)
      this.#failed.set(ownText(address), { untilMs: this.#clock.now() + this.#limits.retryMs })
      this.#metrics.asked('failed')
      if (!isAnswered && !this.#stopped && this.#silence.unanswered(this.#clock.now())) this.#releaseCallers()
    } finally {
      clearTimeout(overtime)
      this.#busy.delete(resolver)
      this.#idle.push(resolver)
      this.#end(query)
      this.#next()
    }
  }

  /** Name servers have become silent: drops the queue and lets all callers continue. */
  #releaseCallers(): void {
    const { silentAfter: unanswered, pauseMinMs: pauseMs } = this.#limits
    const facts = { servers: this.#servers, unanswered, pauseMs }
    this.#log.warn(facts, 'name servers do not answer; addresses get no host names for now')
    for (const query of this.#queue.splice(0)) {
      this.#metrics.asked('silent')
      this.#end(query)
    }
    for (const query of this.#queries.values()) query.finish()
  }

  #end(query: Query): void {
    this.#queries.delete(query.address.text)
    query.finish()
  }

  #cacheEntry({ hostname, ttlSeconds }: HostnameAnswer): KnownHostname {
    const { foundMinMs, foundMaxMs, noneMs } = this.#limits
    const now = this.#clock.now()
    if (hostname === undefined) return { facts: undefined, expiresAtMs: now + noneMs }
    const keptMs = Math.min(Math.max(ttlSeconds * 1_000, foundMinMs), foundMaxMs)
    return { facts: makeFacts({ hostname }, { hostname }), expiresAtMs: now + keptMs }
  }

  #createResolver(): Resolver {
    const resolver = new Resolver({ timeout: this.#limits.queryTimeoutMs, tries: this.#limits.queryTries })
    if (this.#servers !== undefined) resolver.setServers(this.#servers)
    return resolver
  }
}

/** Waits for work that never rejects, up to a deadline. */
async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const time = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([work, time])
  clearTimeout(timer)
}

/**
 * A circuit breaker for name servers that do not answer at all. It opens after some addresses without any answer, and lets
 * a few through after each pause, which doubles. Any answer closes it.
 */
class Silence {
  readonly #limits: Pick<ReverseDnsLimits, 'silentAfter' | 'pauseMinMs' | 'pauseMaxMs'>
  /** Consecutive addresses without an answer. */
  #unanswered = 0
  /** The next pause; 0 while closed. */
  #pauseMs = 0
  #tryAtMs = 0
  #tries = 0

  constructor(limits: Pick<ReverseDnsLimits, 'silentAfter' | 'pauseMinMs' | 'pauseMaxMs'>) {
    this.#limits = limits
  }

  get isOn(): boolean {
    return this.#pauseMs > 0
  }

  /** Whether one more address may be queried. */
  mayAsk(nowMs: number): boolean {
    if (!this.isOn) return true
    if (nowMs >= this.#tryAtMs) this.#pause(nowMs, this.#limits.silentAfter)
    if (this.#tries === 0) return false
    this.#tries--
    return true
  }

  /** A name server answered. @returns whether this ends a silence */
  answered(): boolean {
    const ended = this.isOn
    this.#unanswered = 0
    this.#pauseMs = 0
    return ended
  }

  /** No name server answered for an address. @returns whether this begins a silence */
  unanswered(nowMs: number): boolean {
    this.#unanswered++
    if (this.isOn || this.#unanswered < this.#limits.silentAfter) return false
    this.#pauseMs = this.#limits.pauseMinMs
    this.#pause(nowMs, 0)
    return true
  }

  /** @param tries addresses to let through during the pause */
  #pause(nowMs: number, tries: number): void {
    this.#tries = tries
    this.#tryAtMs = nowMs + this.#pauseMs
    this.#pauseMs = Math.min(this.#pauseMs * 2, this.#limits.pauseMaxMs)
  }
}
