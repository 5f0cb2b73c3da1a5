import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { BATCH_LIMITS, type BatchJob } from '../../../schemas/api/batch.ts'
import { EventEnvelope } from '../../../schemas/api/event.ts'
import type { SourceFacts } from '../../../schemas/api-key.ts'
import { NO_PAGE } from '../../../schemas/filtered.ts'
import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'
import { optional } from '../../config/setting.ts'
import type { Exchange } from '../../http/engine/exchange.ts'
import { HttpError } from '../../http/engine/http-error.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import { type TrustedProxies, trustedProxies } from '../../http/engine/trusted-proxies.ts'
import { foundJob } from '../../http/route/job.ts'
import { parseQuery, single } from '../../http/route/query.ts'
import type { KeyedRoute } from '../../http/route/route.ts'
import { InputError } from '../../run/errors.ts'
import { codesOf } from '../../run/json-scan.ts'
import type { SlicedWork } from '../../run/slices.ts'
import type { Caller, CallerSource } from '../../tenants/tenancy.ts'
import type { BatchJobs } from '../declaration/batch-jobs.ts'
import type { OtherEvents, SetupBlock, Source, SourceTools } from '../declaration/source.ts'
import { filteredOf } from '../event/outcomes.ts'
import type { ReadEvent } from '../event/read-event.ts'
import { compileValidator } from '../event/validator.ts'
import { smallPieces } from './batch/files/small-pieces.ts'
import { readChunk, readLine } from './batch/read-chunk.ts'
import { receiveUpload } from './batch/receive-upload.ts'
import { NOT_JSON } from './batch/rejected-lines.ts'
import { type EntryFormat, EntryReader, entryFormat } from './http/entries.ts'
import { ABOUT_SECRET, PRESETS, presetNamed, SIGNING_PRESET, secretBlock } from './http/presets.ts'
import { scanEventLine } from './live/scan-events.ts'
import { sliceEvent } from './live/slice-event.ts'
import { sourceOperation } from './tools/operation.ts'
import { keyInHead, Sender, sourceSettings } from './tools/tool-source.ts'

const KIND = 'http'
const TITLE = 'Logs and any JSON'
const CHALLENGE_PATH = '/.well-known/fastly/logging/challenge'
/** Events and characters of a body that goes through the live lane. A larger one becomes a batch job. */
const LIVE_EVENTS_MAX = 2_500
const LIVE_CHARS_MAX = 1_048_576
/** An event may be larger than the entry that it comes from. */
const JOB_MAX_BYTES = 2 * BATCH_LIMITS.bodyMaxBytes

const SERVICE = /^(?:\*|[A-Za-z0-9]{1,64})$/

const settings = {
  ...sourceSettings,
  fastlyServices: optional(
    'FASTLY_SERVICES',
    'ids',
    'Fastly services that may send logs to this host, separated by commas, or * for any; unset: none',
    (value) => {
      const services = value.split(',').map((service) => service.trim())
      if (services.every((service) => SERVICE.test(service))) return services
      throw new InputError('must be ids of Fastly services, separated by commas, or *')
    },
  ),
}

type Tools = SourceTools<typeof settings>

const check = compileValidator(EventEnvelope)

/**
 * Any JSON: NDJSON, an array, or objects, and lines of known logs, from log shippers, edge logs and programs. The source's mapping, and its preset, say where
 * the fields are. A body is read as it arrives, so its size costs no memory. A small one takes the live lane; a large one is spooled
 * and becomes a batch job, whole or not at all. Either way the answer comes when everything is on disk.
 */
export const http: Source<typeof settings> = {
  name: KIND,
  lane: 'live',
  settings,
  tool: {
    title: TITLE,
    group: 'shippers',
    path: (key) => `/s/${KIND}/${key}`,
    setup: ({ base, key, id }, facts) =>
      setupOf(`${base}/s/${KIND}/${key}`, id, facts).filter((block) => block.key !== 'server' || key !== undefined),
    presets: PRESETS,
  },
  routes: [`/s/${KIND}`, `/s/${KIND}/:source_key`].flatMap((path) => {
    const shared = { path, sourceKind: KIND, cors: true, keepsPeer: true, refuse, keyOf: keyOfRequest }
    return [
      {
        ...shared,
        method: 'POST' as const,
        operation: sourceOperation({
          ...{ method: 'POST', path, title: TITLE },
          request:
            'NDJSON, a JSON array, objects or lines of an access log, plain or compressed (gzip, deflate, br, zstd), up to 100 MB; the source says where the fields are',
          answer:
            'The events are on disk: {"received","accepted","filtered","invalid_ip","no_ip","rejected"}, and "filtered_reasons" if any were filtered, with no_page for requests of logs that are no page views; or {"received","job_id"} for a large body',
        }),
        bodyMaxBytes: BATCH_LIMITS.bodyMaxBytes,
        streamsBody: true,
        takesAnyCoding: true,
        open: openPost,
      },
      {
        ...shared,
        method: 'GET' as const,
        operation: sourceOperation({
          ...{ method: 'GET', path, title: TITLE, about: 'checks the key, or shows the counts of a job of the source' },
          request: 'none, or job, the job_id of a large body of this source',
          answer:
            '{"source_id","kind"}, and the code that Vercel asks for in x-vercel-verify; or {"job_id","status","result_summary"} of the job, without its errors',
          errors: [404, 503],
        }),
        open: openGet,
      },
    ]
  }),
  openRoutes: [
    {
      method: 'GET',
      path: CHALLENGE_PATH,
      operation: sourceOperation({
        ...{
          method: 'GET',
          path: CHALLENGE_PATH,
          title: 'Fastly',
          about: 'asks which services may send logs to this host',
        },
        request: 'none',
        answer: 'Lines of text: the SHA-256 of the id of each service, or *',
        errors: [404],
      }),
      open:
        ({ fastlyServices }) =>
        () =>
          challengeAnswer(fastlyServices),
    },
  ],
  read: readChunk,
}

function setupOf(url: string, id: string, facts: SourceFacts | undefined): readonly SetupBlock[] {
  const preset = presetNamed(facts?.preset)
  if (preset !== undefined) return preset.setup(url, id)
  return [
    {
      ...secretBlock('Send events', `curl --data-binary @events.ndjson ${url}`),
      about: `NDJSON, a JSON array, objects or lines of an access log, plain or gzip, up to 100 MB. ${ABOUT_SECRET}`,
    },
    {
      title: 'Say where the fields are, when they have other names than ip, event_id and timestamp',
      isSample: true,
      code: `./ipid source set ${id} --map ip=client.address --map event_id=request_id --map timestamp=time`,
    },
  ]
}

function keyOfRequest({ request }: Exchange): string {
  return keyInHead(request)
}

function openPost({ keep, jobs, settings: { trustedProxies: networks }, secrets }: Tools): KeyedRoute['handle'] {
  let trusted: TrustedProxies | undefined
  const formats = new WeakMap<CallerSource, EntryFormat>()
  return async (exchange, caller) => {
    const source = caller.source!
    trusted ??= trustedProxies(networks)
    const format = formats.get(source) ?? entryFormat(source, trusted)
    formats.set(source, format)
    if (source.verify) exchange.addHeader(VERIFY_HEADER, source.verify)
    const signature = signatureOf(exchange, source, secrets)
    const sender = new Sender(exchange, trusted, source)
    const { firehoseRequestId } = exchange.request.head
    const reader = new EntryReader(format, {
      addressOf: (event) => sender.addressOf(event),
      firehoseRequestId,
      hold: (bytes) => exchange.hold(bytes),
    })
    const body = new LinesOfBody(exchange, reader, signature)
    try {
      const lines = await body.first()
      if (lines === undefined) return await spool(body, exchange, caller, jobs, signature)
      signature?.assertRight()
      return lines.length === 0 ? answer(exchange, { received: 0 }) : keepLines(lines, exchange, caller, keep)
    } finally {
      await body.close()
    }
  }
}

/** Stores a large body as one upload. */
async function spool(
  body: LinesOfBody,
  exchange: Exchange,
  { tenant, source }: Caller,
  jobs: BatchJobs,
  signature: Signature | undefined,
): Promise<HttpResponse> {
  const { jobId, received } = await receiveUpload(jobs, tenant, body.all(), {
    whole: async () => signature?.assertRight(),
    commit: () => exchange.commit(),
    file: { source: KIND, sourceId: source!.id, bytesMax: JOB_MAX_BYTES },
  })
  return answer(exchange, { received, job_id: jobId })
}

/** The lines of a request's body. */
class LinesOfBody {
  readonly #exchange: Exchange
  readonly #reader: EntryReader
  readonly #pieces: AsyncGenerator<Buffer, void, void>
  readonly #signature: Signature | undefined
  #lines: string[] = []
  #chars = 0
  /** Lines of the last piece that was read; undefined before the first one. */
  #parts: Generator<string[]> | undefined
  #isOver = false

  constructor(exchange: Exchange, reader: EntryReader, signature: Signature | undefined) {
    this.#exchange = exchange
    this.#reader = reader
    this.#signature = signature
    this.#pieces = smallPieces(exchange.stream(signature && ((bytes) => signature.addSent(bytes))), PIECE_BYTES)
  }

  /** The lines of a body that the live lane takes; undefined for a larger one, see `all`. */
  async first(): Promise<readonly string[] | undefined> {
    while (this.#lines.length <= LIVE_EVENTS_MAX && this.#chars <= LIVE_CHARS_MAX) {
      const lines = await this.#next()
      if (lines === undefined) return this.#lines
      for (const line of lines) {
        this.#lines.push(line)
        this.#chars += line.length
      }
      this.#exchange.hold(lines.reduce((sum, line) => sum + line.length, 0))
    }
    return undefined
  }

  /** All lines as NDJSON, those of `first` too. */
  async *all(): AsyncGenerator<Buffer, void, void> {
    const [held, chars] = [ndjson(this.#lines), this.#chars]
    this.#lines = []
    yield held
    this.#exchange.hold(-chars)
    for (let lines = await this.#next(); lines !== undefined; lines = await this.#next()) {
      if (lines.length > 0) yield ndjson(lines)
    }
  }

  /** Ends the decoder of a body that is not read to its end. */
  async close(): Promise<void> {
    await this.#pieces.return()
  }

  async #next(): Promise<readonly string[] | undefined> {
    for (;;) {
      // Reading a part takes some milliseconds: tenants take turns.
      const part = this.#parts && (await this.#exchange.inSlices(nextOf(this.#parts)))
      if (part?.done === false) return part.value
      if (this.#isOver) return undefined
      const { done, value } = await this.#pieces.next()
      this.#isOver = done === true
      if (done !== true) this.#signature?.addDecoded(value)
      this.#parts = done === true ? this.#reader.end() : this.#reader.push(value)
    }
  }
}

/** Bytes of a body that are read at once. */
const PIECE_BYTES = 32_768

// biome-ignore lint/correctness/useYield: the part is short
function* nextOf<T>(parts: Iterator<T>): SlicedWork<IteratorResult<T>> {
  return parts.next()
}

function ndjson(lines: readonly string[]): Buffer {
  return Buffer.from(`${lines.join('\n')}\n`, 'utf8')
}

/** Reads the lines as those of a batch job are read, and stores their events through the live lane. */
async function keepLines(
  lines: readonly string[],
  exchange: Exchange,
  caller: Caller,
  keep: Tools['keep'],
): Promise<HttpResponse> {
  const { text, events, others, noIp, noPage } = await exchange.inSlices(readLines(lines, caller.source!.id))
  const rejected = others.length
  if (noIp > 0) others.push({ status: OUTCOME_STATUS.noIp, reason: '', events: noIp })
  if (noPage > 0) others.push({ status: OUTCOME_STATUS.noPage, reason: '', events: noPage })
  return keep(
    text,
    events,
    exchange,
    caller,
    ({ filtered: noise, invalidIp, outcomes }, kept) => {
      const accepted = events.length - noise - invalidIp
      const filtered = noise + noPage
      const counts = { received: lines.length, accepted, filtered, invalid_ip: invalidIp, no_ip: noIp, rejected }
      const reasons = filtered > 0 && {
        filtered_reasons: { ...filteredOf(outcomes), ...(noPage > 0 && { [NO_PAGE]: noPage }) },
      }
      return { ...answer(exchange, { ...counts, ...reasons }), after: kept }
    },
    others,
  )
}

interface ReadLinesOfBody {
  readonly text: string
  readonly events: ReadEvent[]
  /** The rejected lines. */
  readonly others: OtherEvents[]
  readonly noIp: number
  readonly noPage: number
}

/** Characters of lines that are read between two yields. */
const YIELD_CHARS = 65_536

function* readLines(lines: readonly string[], sourceId: string): SlicedWork<ReadLinesOfBody> {
  const text = lines.join('\n')
  const context = { check, sourceId }
  const events: ReadEvent[] = []
  const others: OtherEvents[] = []
  let noIp = 0
  let noPage = 0
  let codes = codesOf(text)
  let start = 0
  let yieldAt = YIELD_CHARS
  for (const line of lines) {
    if (start > yieldAt) {
      yield
      // Other work has used the memory of the codes meanwhile.
      codes = codesOf(text)
      yieldAt = start + YIELD_CHARS
    }
    const found = scanEventLine(text, codes, start, start + line.length)
    const read = found === undefined ? readLine(line, context) : undefined
    if (found !== undefined) events.push(found)
    else if (!('fault' in read!)) events.push(sliceEvent(text, start, read!))
    else if (read.fault === 'no address') noIp++
    else if (read.fault === 'no page') noPage++
    else {
      const reason = read.fault === 'not JSON' ? NOT_JSON : read.detail
      others.push({ status: OUTCOME_STATUS.rejected, reason, events: 1 })
    }
    start += line.length + 1
  }
  return { text, events, others, noIp, noPage }
}

/** Amazon Data Firehose takes only an answer in its own form for a success. */
function answer({ request: { head } }: Exchange, counts: object): HttpResponse {
  const own = head.firehoseRequestId === '' ? counts : firehoseAnswer(head.firehoseRequestId)
  return { status: 200, body: JSON.stringify(own) }
}

function refuse({ status, message }: HttpError, request?: Exchange['request']): HttpResponse {
  const requestId = request?.head.firehoseRequestId ?? ''
  const own = requestId === '' ? { detail: message } : { ...firehoseAnswer(requestId), errorMessage: message }
  return { status, body: JSON.stringify(own) }
}

function firehoseAnswer(requestId: string): object {
  return { requestId, timestamp: Date.now() }
}

const VERIFY_HEADER = 'x-vercel-verify'

/**
 * Vercel asks with GET whether an endpoint belongs to its customer. For other senders, the answer confirms the key, or says what became
 * of a large body that they sent.
 */
function openGet({ jobs }: Tools): KeyedRoute['handle'] {
  return async (exchange, { tenant, source }) => {
    const { id, kind, verify: code } = source!
    const job = single(parseQuery(exchange.request.query), 'job')
    if (job !== undefined) {
      return { status: 200, body: JSON.stringify(countsOf(foundJob(await jobs.find(tenant.id, job, id)))) }
    }
    if (code) exchange.addHeader(VERIFY_HEADER, code)
    return { status: 200, body: JSON.stringify({ source_id: id, kind }) }
  }
}

/** The answer that a large body would have had, if it had been small. A key of a source reads nothing else: no lines, no errors. */
function countsOf({ job_id, status, result_summary: summary }: BatchJob): object {
  if (summary === null) return { job_id, status, result_summary: null }
  const { errors: _, rejected_reasons: __, warning: ___, ...counts } = summary
  return { job_id, status, result_summary: counts }
}

/** Vercel signs bodies with a secret of the drain. Undefined: the source has no secret. */
function signatureOf(exchange: Exchange, source: CallerSource, secrets: Tools['secrets']): Signature | undefined {
  if (source.preset !== SIGNING_PRESET || source.secret === undefined || source.secret === '') return undefined
  return new Signature(exchange.request.head.vercelSignature, secrets.open(source.secret, source.id))
}

/** HMAC-SHA1 of a body, over the bytes as they were sent or over the decoded ones: Vercel does not say which when it compresses. */
class Signature {
  readonly #given: string
  readonly #sent: ReturnType<typeof createHmac>
  readonly #decoded: ReturnType<typeof createHmac>

  constructor(given: string, secret: string) {
    this.#given = given.toLowerCase()
    this.#sent = createHmac('sha1', secret)
    this.#decoded = createHmac('sha1', secret)
  }

  addSent(bytes: Buffer): void {
    this.#sent.update(bytes)
  }

  addDecoded(bytes: Buffer): void {
    this.#decoded.update(bytes)
  }

  /** Call it once. @throws HttpError 403 */
  assertRight(): void {
    const given = Buffer.from(this.#given, 'latin1')
    const isRight = [this.#sent, this.#decoded].some((hmac) => {
      const right = Buffer.from(hmac.digest('hex'), 'latin1')
      return given.length === right.length && timingSafeEqual(given, right)
    })
    if (!isRight)
      throw new HttpError('bad_signature', "x-vercel-signature is missing, or not made with the source's secret")
  }
}

/**
 * Fastly sends logs only to a host that names the service: a line with the SHA-256 of its id, or `*` for all services. An
 * installation that names none answers as for any other path.
 */
function challengeAnswer(services: readonly string[] | undefined): HttpResponse {
  if (services === undefined) throw new HttpError('unknown_path', 'this path does not exist')
  const lines = services.map((service) => (service === '*' ? '*' : hash('sha256', service, 'hex')))
  return { status: 200, type: 'text/plain; charset=utf-8', body: `${lines.join('\n')}\n` }
}
