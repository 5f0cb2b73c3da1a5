import { connect as connectTcp, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { AbstractConnector, Redis, type RedisOptions } from 'ioredis'
import { type HostPort, readSentinelUrl, type SentinelAddress } from '../../config/redis-url.ts'
import { causeText, causeWithRemedy } from '../../run/cause-text.ts'
import { pause } from '../../run/loop.ts'
import { replyCode } from './errors.ts'

/*
 * ioredis has a connector for Sentinel, which fails in a network partition. It believes the first Sentinel that answers, and so goes
 * back to an old master as long as a Sentinel is cut off together with it. It does not leave a paused master, whose connections stay
 * open, unless each client subscribes to each Sentinel: 60 connections and more in a process. Here one watch per process asks all
 * Sentinels, believes the newest answer, and ends all connections to another server in the same turn.
 */

const ASK_EVERY_MS = 500
const ANSWER_WITHIN_MS = 1_000

interface Master extends HostPort {
  /** The number of the fail-over that made it the master. */
  readonly epoch: number
}

/** Watches the master of one URL while a client of this process is connected, or wants to be. */
class SentinelWatch {
  readonly address: SentinelAddress
  readonly #connectors = new Set<MasterConnector>()
  /** The last answer of each Sentinel. A silent one may be the only one that knows the last fail-over. */
  readonly #answers = new Map<HostPort, Master>()
  readonly #failures = new Map<HostPort, string>()
  #master: Master | undefined
  #stopping: AbortController | undefined
  /** Resolve the waits of `master`. */
  #waiting: (() => void)[] = []

  constructor(address: SentinelAddress) {
    this.address = address
  }

  enter(connector: MasterConnector): void {
    this.#connectors.add(connector)
    if (this.#stopping !== undefined) return
    this.#stopping = new AbortController()
    for (const sentinel of this.address.sentinels) void this.#follow(sentinel, this.#stopping.signal)
  }

  leave(connector: MasterConnector): void {
    this.#connectors.delete(connector)
    if (this.#connectors.size > 0) return
    this.#stopping?.abort()
    this.#stopping = undefined
    this.#answers.clear()
    this.#failures.clear()
    this.#master = undefined
  }

  /** The master, as soon as a Sentinel has named it. @throws Error with the failures when none does so in time */
  async master(): Promise<HostPort> {
    const { sentinels, name } = this.address
    const late = AbortSignal.timeout(ANSWER_WITHIN_MS)
    while (this.#master === undefined && this.#failures.size < sentinels.length && !late.aborted) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
        late.addEventListener('abort', () => resolve(), { once: true })
      })
    }
    if (this.#master !== undefined) return this.#master
    const failures = sentinels.map((one) => `${hostPortText(one)} says: ${this.#failures.get(one) ?? 'nothing'}`)
    throw new Error(`no Sentinel knows the master ${name}: ${failures.join('; ')}`)
  }

  async #follow(sentinel: HostPort, signal: AbortSignal): Promise<void> {
    const client = new Redis({ ...sentinel, ...this.#options() })
    let failure = 'no answer'
    client.on('error', (error) => {
      failure = causeWithRemedy(error)
    })
    while (!signal.aborted) {
      try {
        const answer = await ask(client, this.address.name)
        if (!signal.aborted) this.#heard(sentinel, answer)
      } catch (error) {
        this.#failures.set(sentinel, replyCode(error) === undefined ? failure : causeText(error))
      }
      for (const resolve of this.#waiting.splice(0)) resolve()
      await pause(ASK_EVERY_MS, signal)
    }
    client.disconnect()
  }

  #heard(sentinel: HostPort, answer: Master): void {
    this.#answers.set(sentinel, answer)
    this.#failures.delete(sentinel)
    const answers = [...this.#answers.values()]
    const epoch = Math.max(...answers.map((one) => one.epoch))
    const newest = answers.filter((one) => one.epoch === epoch)
    this.#master = newest.find((one) => isSame(one, this.#master)) ?? newest[0]!
    for (const connector of this.#connectors) connector.endUnlessTo(this.#master)
  }

  #options(): RedisOptions {
    const { isTls, sentinelUsername, sentinelPassword } = this.address
    return {
      connectionName: 'ipid:sentinel',
      ...(sentinelUsername !== undefined && { username: sentinelUsername }),
      ...(sentinelPassword !== undefined && { password: sentinelPassword }),
      ...(isTls && { tls: {} }),
      connectTimeout: ANSWER_WITHIN_MS,
      commandTimeout: ANSWER_WITHIN_MS,
      maxRetriesPerRequest: 0,
      enableReadyCheck: false,
      retryStrategy: () => ASK_EVERY_MS,
      protocol: 2,
    }
  }
}

/** During a fail-over, the first command still describes the old master when the second already names the new one. */
async function ask(sentinel: Redis, name: string): Promise<Master> {
  const [facts, address] = await Promise.all([
    sentinel.call('SENTINEL', 'MASTER', name) as Promise<string[]>,
    sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name) as Promise<[host: string, port: string]>,
  ])
  const epoch = Number(facts[facts.indexOf('config-epoch') + 1])
  return { host: address[0], port: Number(address[1]), epoch }
}

/** Connects one client to the master. */
class MasterConnector extends AbstractConnector {
  readonly #watch: SentinelWatch
  #to: HostPort | undefined

  constructor(watch: SentinelWatch, disconnectTimeoutMs: number) {
    super(disconnectTimeoutMs)
    this.#watch = watch
  }

  /** Never rejects while the client is open: ioredis would give up for good. It gets a closed socket, and tries again later. */
  override async connect(): ReturnType<AbstractConnector['connect']> {
    this.connecting = true
    this.#watch.enter(this)
    try {
      const { host, port } = await this.#watch.master()
      if (!this.connecting) throw new Error('Connection is closed.')
      this.#to = { host, port }
      this.stream = this.#watch.address.isTls ? connectTls({ host, port }) : connectTcp({ host, port })
    } catch (error) {
      if (!this.connecting) throw error
      this.firstError = error as Error
      this.stream = new Socket().destroy()
      return this.stream
    }
    this.stream.once('error', (error) => {
      this.firstError = error
    })
    return this.stream
  }

  /** A demoted master, or one that is not promoted yet, is not the server to talk to. */
  override check({ role }: { readonly role?: string }): boolean {
    return role === undefined || role === 'master'
  }

  override disconnect(): void {
    super.disconnect()
    this.#watch.leave(this)
  }

  /** Ends the connection to any other server, at once: a paused one would not answer a goodbye. */
  endUnlessTo(master: HostPort): void {
    if (this.#to !== undefined && !isSame(this.#to, master)) this.stream.destroy()
  }

  get isConnectedTo(): string | undefined {
    return this.#to === undefined ? undefined : hostPortText(this.#to)
  }
}

const watches = new Map<string, SentinelWatch>()
const connectors = new WeakMap<object, MasterConnector>()

/** Options of a client that connects to the master of a `redis-sentinel://` URL, and follows it. @throws InputError */
export function sentinelOptions(url: string): RedisOptions {
  const watch = watches.get(url) ?? new SentinelWatch(readSentinelUrl(url))
  watches.set(url, watch)
  const { isTls, username, password, db } = watch.address
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(isTls && { tls: {} }),
    db,
    Connector: class extends MasterConnector {
      constructor(options: unknown) {
        super(watch, (options as { disconnectTimeout: number }).disconnectTimeout)
        connectors.set(options as object, this)
      }
    },
  }
}

/** The master of this client, now or last, as Sentinel names it; undefined without Sentinel. */
export function sentinelMasterOf(client: Redis): string | undefined {
  return connectors.get(client.options)?.isConnectedTo
}

function isSame(one: HostPort, other: HostPort | undefined): boolean {
  return one.host === other?.host && one.port === other.port
}

function hostPortText({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
