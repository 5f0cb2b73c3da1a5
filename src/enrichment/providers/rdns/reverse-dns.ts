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
import { Silence } from './silence.ts'

/** How reverse DNS is set up. */
export interface ReverseDnsOptions {
  /** Name servers, `address` or `address:port`; undefined for those of the machine. */
  readonly servers: readonly string[] | undefined
  readonly clock: Clock
  readonly metrics: Registry
  readonly log: Logger
  readonly limits?: Partial<ReverseDnsLimits>
}

/** What is known of the host name of an address. */
export interface KnownHostname {
  /** The name as a record of a provider; undefined when the address has no confirmed name. */
  readonly facts: Facts | undefined
  readonly expiresAtMs: number
}

/** An address that is asked for. Everybody who wants it waits for the same answer. */
interface Asking {
  readonly address: Address
  readonly takenAtMs: number
  readonly done: Promise<void>
  readonly finish: () => void
}

const NEVER_ASKED: KnownHostname = { facts: undefined, expiresAtMs: Number.POSITIVE_INFINITY }

/**
 * Forward-confirmed reverse names, asked of name servers and remembered. An address is asked for once at a time;
 * beyond the limits on asking and waiting, addresses are left alone. Reserved addresses are never asked for, and instead
 * of one that carries an IPv4 address (`judgedAddress`), that one is. No
 * answer (time-out, SERVFAIL) is not remembered as "no name". While name servers are silent, nobody waits for them.
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
  /** Until when an address is left alone because its name servers failed. */
  readonly #failed: BoundedCache<string, { readonly untilMs: number }>
  readonly #asking = new Map<string, Asking>()
  readonly #queue: Asking[] = []
  /** One for each address that is asked for, so that it can be cancelled alone. */
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
      waiting: () => this.#asking.size,
      remembered: () => this.#known.size,
      silent: () => this.#silence.isOn,
    })
  }

  /** Nothing is acquired before the first question. */
  async start(): Promise<void> {}

  /** Cancels what is being asked; whoever waits goes on without. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const asking of this.#queue.splice(0)) this.#end(asking)
    for (const resolver of this.#busy) resolver.cancel()
  }

  /** What is remembered of an address; undefined when it has to be asked for. Reserved ones have no name. */
  known(address: Address): KnownHostname | undefined {
    const known = this.#known.get(judgedAddress(address).text)
    if (known !== undefined && known.expiresAtMs > this.#clock.now()) return known
    return this.#reserved.find(address) === undefined ? undefined : NEVER_ASKED
  }

  /**
   * Asks for an address and waits for at most `deadlineMs`. The answer that comes later is remembered all the same.
   * @param deadlineMs default: `deadlineMs` of the limits
   * @returns undefined when it is not known by then
   */
  async find(address: Address, deadlineMs = this.#limits.deadlineMs): Promise<KnownHostname | undefined> {
    const known = this.known(address)
    if (known !== undefined) return known
    await within(deadlineMs, this.#ask(address))
    return this.known(address)
  }

  async prefetch(addresses: readonly Address[]): Promise<void> {
    const asked = addresses.filter((address) => this.known(address) === undefined).map((address) => this.#ask(address))
    if (asked.length > 0) await within(this.#limits.deadlineMs, Promise.all(asked))
  }

  /** Resolves when the address was asked for, whatever came of it; at once while name servers are silent. */
  #ask(sent: Address): Promise<unknown> {
    const address = judgedAddress(sent)
    const asked = this.#asking.get(address.text)
    if (asked !== undefined) return asked.done
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
    const asking: Asking = { address, takenAtMs: now, done, finish }
    this.#asking.set(address.text, asking)
    this.#queue.push(asking)
    if (this.#silence.isOn) finish()
    this.#next()
    return done
  }

  #next(): void {
    while (this.#queue.length > 0 && this.#busy.size < this.#limits.concurrencyMax) {
      const asking = this.#queue.shift()!
      const leftMs = asking.takenAtMs + this.#limits.askMaxMs - this.#clock.now()
      if (leftMs > 0) {
        void this.#run(asking, leftMs)
        continue
      }
      this.#metrics.asked('refused')
      this.#end(asking)
    }
  }

  async #run(asking: Asking, leftMs: number): Promise<void> {
    const { address } = asking
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
      this.#known.set(ownText(address), this.#remembered(answer))
      this.#metrics.asked(answer.hostname === undefined ? 'none' : 'found')
    } catch {
      this.#failed.get(address.text)
      this.#failed.set(ownText(address), { untilMs: this.#clock.now() + this.#limits.retryMs })
      this.#metrics.asked('failed')
      if (!isAnswered && !this.#stopped && this.#silence.unanswered(this.#clock.now())) this.#letGo()
    } finally {
      clearTimeout(overtime)
      this.#busy.delete(resolver)
      this.#idle.push(resolver)
      this.#end(asking)
      this.#next()
    }
  }

  /** Name servers turn out to be silent: whoever waits goes on without. */
  #letGo(): void {
    const { silentAfter: unanswered, pauseMinMs: pauseMs } = this.#limits
    const facts = { servers: this.#servers, unanswered, pauseMs }
    this.#log.warn(facts, 'name servers do not answer; addresses go without host names for now')
    for (const asking of this.#queue.splice(0)) {
      this.#metrics.asked('silent')
      this.#end(asking)
    }
    for (const asking of this.#asking.values()) asking.finish()
  }

  #end(asking: Asking): void {
    this.#asking.delete(asking.address.text)
    asking.finish()
  }

  #remembered({ hostname, ttlSeconds }: HostnameAnswer): KnownHostname {
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

/** Waits for work that never rejects, at most so many milliseconds. */
async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const time = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([work, time])
  clearTimeout(timer)
}
