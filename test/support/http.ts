import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import { ingest } from '../../pipelines/ingest.ts'
import { DEFAULT_PLANS } from '../../schemas/plans.ts'
import { createRoutes, type RouteParts } from '../../src/http/api/routes.ts'
import { createHttpServer, type HttpServer } from '../../src/http/api/server.ts'
import { openSources } from '../../src/http/api/source-routes.ts'
import type { EngineChoice } from '../../src/http/engine/choose.ts'
import type { HttpLimits } from '../../src/http/engine/limits.ts'
import type { Route } from '../../src/http/route/route.ts'
import type { EventReceipts } from '../../src/operations/receipts/receipts.ts'
import type { BatchJobs } from '../../src/pipeline/declaration/batch-jobs.ts'
import type { Intake, SourceEntry } from '../../src/pipeline/declaration/source.ts'
import type { Enricher, Enrichment } from '../../src/pipeline/event/enrichment.ts'
import type { Envelope } from '../../src/pipeline/event/envelope.ts'
import { enrichmentColumns } from '../../src/pipeline/event/row.ts'
import { type KeepOptions, keepEvents } from '../../src/pipeline/sources/live/keep.ts'
import { systemClock } from '../../src/run/clock.ts'
import { BackpressureError } from '../../src/run/errors.ts'
import type { Limiter } from '../../src/tenants/limits/limits.ts'
import type { Authenticator, Caller } from '../../src/tenants/tenancy.ts'
import { testedEngine } from './engines.ts'
import { freeQuota, noBulkJobs, TestLookups } from './lookups.ts'
import { silent } from './pipeline.ts'

/** The one key that `openAuthenticator` knows. */
export const API_KEY = `ipid_${'0123456789abcdef'.repeat(4)}`

export const acme: Caller = {
  tenant: { id: 'acme', plan: 'starter', archive: false, addresses: 'full', createdAt: '2026-01-01T00:00:00.000Z' },
  plan: DEFAULT_PLANS.starter!,
}

export const oneKey: Authenticator = { authenticate: (rawKey) => (rawKey === API_KEY ? acme : undefined) }

const decision = { name: 'rate limit', limit: 20, windowSeconds: 4, resetAt: '' }
/** Allows everything. */
export const noLimit: Limiter = {
  take: async () => ({ ...decision, allowed: true, left: 19, used: 1, resetSeconds: 1, retryAfterSeconds: 0 }),
}
/** Refuses everything. */
export const fullLimit: Limiter = {
  take: async () => ({ ...decision, allowed: false, left: 0, used: 20, resetSeconds: 4, retryAfterSeconds: 3 }),
}

const known = { companyId: '', classification: undefined, quality: 0, data: {} }
const nothingKnown: Enrichment = {
  ...known,
  noise: false,
  answerJson: '"enrichment":{},"quality":0',
  ...enrichmentColumns(known),
}
export const noData: Enricher = { enrich: () => nothingKnown }

export const noReceipts: EventReceipts = { find: async () => ({ incomplete: [] }) }

export const noCompanies: RouteParts['companies'] = {
  part: async () => ({ companies: [], next: undefined }),
  company: async () => undefined,
  origins: async () => ({ pages: [], referrers: [], campaigns: [], sources: [] }),
  unknownNetworks: async () => ({ from: '2026-11-01', to: '2026-11-30', visits: 0, total: 0, networks: [] }),
}

export const noImports: RouteParts['imports'] = {
  import: async () => {
    throw new BackpressureError('no imports here')
  },
}

export const noSegments: RouteParts['segments'] = { list: async () => [] }

export const noJobs: BatchJobs = {
  begin: async () => {
    throw new BackpressureError('no jobs here')
  },
  find: async () => undefined,
  list: async () => ({ jobs: [], next: null }),
  repeated: async () => undefined,
  rejected: async () => undefined,
  cancel: async () => undefined,
}

/** Keeps its events in memory, for tests that do not need Redis. */
export class MemoryIntake implements Intake {
  readonly envelopes: Envelope[] = []
  async append(envelopes: readonly Envelope[]): Promise<void> {
    this.envelopes.push(...envelopes)
  }
}

/** An intake that holds its events until it is released. */
export function heldIntake() {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let appended = 0
  const intake: Intake = {
    append() {
      appended++
      return released
    },
  }
  return { intake, release, appended: () => appended }
}

export interface TestHttpOptions extends Partial<RouteParts>, Partial<KeepOptions> {
  readonly jobs?: BatchJobs
  /** Default: those of the product. */
  readonly pipelineSources?: readonly SourceEntry[]
  /** The limits of those routes. */
  readonly settings?: Readonly<Record<string, unknown>>
  readonly authenticator?: Authenticator
  readonly limiter?: Limiter
  readonly limits?: Partial<HttpLimits>
  readonly log?: Logger
  readonly moreRoutes?: readonly Route[]
  readonly metrics?: Registry
  readonly port?: number
  readonly sharePort?: boolean
  /** Default: that of `testedEngine`. */
  readonly engine?: EngineChoice
  readonly idleSeconds?: number
}

/** Routes of sources whose events go to an intake of the test. */
export function testSources(options: TestHttpOptions = {}): readonly Route[] {
  const { intake = new MemoryIntake(), enricher = noData, clock = systemClock, jobs = noJobs } = options
  const keep = keepEvents({ ...options, intake, enricher, clock })
  return openSources(options.pipelineSources ?? ingest.sources, () => ({
    keep,
    jobs,
    settings: options.settings ?? {},
    secrets: { open: () => '' },
  }))
}

/** A server on its own port, stopped after the test. */
export async function startHttp(t: TestContext, options: TestHttpOptions = {}): Promise<HttpServer> {
  const parts: RouteParts = {
    sources: options.sources ?? testSources(options),
    readiness: options.readiness ?? { problems: async () => [] },
    lookups: options.lookups ?? new TestLookups(),
    quota: options.quota ?? freeQuota(),
    bulkJobs: options.bulkJobs ?? noBulkJobs,
    receipts: options.receipts ?? noReceipts,
    companies: options.companies ?? noCompanies,
    imports: options.imports ?? noImports,
    segments: options.segments ?? noSegments,
  }
  const server = createHttpServer({
    host: '127.0.0.1',
    port: options.port ?? 0,
    sharePort: options.sharePort,
    engine: options.engine ?? testedEngine(),
    ...(options.idleSeconds !== undefined && { idleSeconds: options.idleSeconds }),
    routes: [...createRoutes(parts), ...(options.moreRoutes ?? [])],
    authenticator: options.authenticator ?? oneKey,
    limiter: options.limiter ?? noLimit,
    trustedProxies: ['127.0.0.0/8'],
    ...(options.clock && { clock: options.clock }),
    log: options.log ?? silent,
    metrics: options.metrics ?? new Registry(),
    limits: { stopMs: 1_000, ...options.limits },
  })
  await server.start()
  t.after(() => server.stop())
  return server
}

/** A connection on which a test writes raw bytes. */
export class RawConnection {
  readonly socket: Socket
  #received = ''
  #closed = false
  #wake: () => void = () => {}

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (bytes) => {
      this.#received += bytes.toString('latin1')
      this.#wake()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#closed = true
      this.#wake()
    })
  }

  static async open(t: TestContext, port: number): Promise<RawConnection> {
    const socket = connect(port, '127.0.0.1')
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    return new RawConnection(socket)
  }

  get received(): string {
    return this.#received
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Writes, and resolves when the kernel has it. */
  write(bytes: string | Buffer): Promise<void> {
    return new Promise((resolve) => this.socket.write(bytes, () => resolve()))
  }

  /** Resolves when the received text matches. Rejects when the connection closes first. */
  async until(pattern: RegExp): Promise<string> {
    for (;;) {
      if (pattern.test(this.#received)) return this.#received
      if (this.#closed) throw new Error(`closed after ${JSON.stringify(this.#received)}`)
      await this.#change()
    }
  }

  /** Resolves with everything received when the other side closes. */
  async untilClosed(): Promise<string> {
    while (!this.#closed) await this.#change()
    return this.#received
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

/** The head of a request with the key, ended by the empty line. */
export function keyedHead(line: string, ...headers: string[]): string {
  return [`${line} HTTP/1.1`, 'host: test', `x-api-key: ${API_KEY}`, ...headers, '', ''].join('\r\n')
}

/** The head of a request to `/v1/ingest` with the key, ended by the empty line. */
export function ingestHead(...headers: string[]): string {
  return keyedHead('POST /v1/ingest', ...headers)
}
