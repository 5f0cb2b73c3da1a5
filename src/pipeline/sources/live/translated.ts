import { EVENT_LIMITS, EventEnvelope } from '../../../../schemas/api/event.ts'
import { OUTCOME_STATUS } from '../../../../schemas/outcome.ts'
import type { OwnSettings, OwnValues } from '../../../config/setting.ts'
import type { Exchange } from '../../../http/engine/exchange.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { HttpResponse } from '../../../http/engine/response.ts'
import { andThen } from '../../../run/and-then.ts'
import { atOnce, type SlicedWork } from '../../../run/slices.ts'
import type { Caller } from '../../../tenants/tenancy.ts'
import type { OtherEvents, SourceRoute } from '../../declaration/source.ts'
import { isValueTooDeep, TOO_DEEP } from '../../event/json-depth.ts'
import { charsOf, type ReadEvent } from '../../event/read-event.ts'
import { compileValidator, type FieldError } from '../../event/validator.ts'
import { stringifyExactly } from '../tools/exact-json.ts'
import { readObject } from './read-object.ts'

/** Counts of the events of a request. */
export interface Tally {
  readonly received: number
  /** Stored, or a repeat of a stored event. */
  readonly ok: number
  /** Noise: counted but not stored. */
  readonly filtered: number
  /** Events without a valid address: counted but not stored. */
  readonly invalidIp: number
  /** Events without an address. They are counted and not stored. Always 0 unless the route says `countsNoIp`. */
  readonly noIp: number
  /** Events that do not fit the schema. Each is counted by its first error, and does not affect other events. */
  readonly rejected: readonly RejectedEvent[]
}

interface RejectedEvent {
  /** Position among the events of the request, from 0. */
  readonly index: number
  readonly errors: readonly FieldError[]
}

/** A route with its own format of requests and responses. */
interface TranslatedRoute<Own extends OwnSettings> extends Omit<SourceRoute<Own>, 'open' | 'streamsBody'> {
  /** Most events of a request; more are answered 413. Default: the limit of `/v1/ingest`. */
  readonly eventsMax?: number
  /** An event without an `ip` is counted as `no_ip` and not as `rejected`. Default: false. */
  readonly countsNoIp?: boolean
  /**
   * Turns a request into objects in the form of `EventEnvelope`; a `RefusedEvent` counts as one that does not fit the schema. The archive
   * stores these objects, so a replay does not need the source.
   * @param text the decoded body; `''` when the route takes none
   * @returns the objects, or work that yields to others and returns them; it may continue while they are read
   * @throws HttpError to refuse the whole request
   */
  translate(
    text: string,
    exchange: Exchange,
    settings: OwnValues<Own>,
    caller: Caller,
  ): readonly object[] | SlicedWork<Iterable<object>>
  /** Makes the response, which is sent when the events are on disk. */
  answer(
    tally: Tally,
    exchange: Exchange,
  ): Pick<HttpResponse, 'status' | 'type' | 'headers'> & { readonly body: string }
}

const check = compileValidator(EventEnvelope)
const TOO_DEEP_ERRORS: readonly FieldError[] = [{ path: '', message: TOO_DEEP }]

/** In place of an event that cannot be read: it is rejected by itself, so that the others of its request are stored. */
export class RefusedEvent {
  readonly errors: readonly FieldError[]

  constructor(errors: readonly FieldError[]) {
    this.errors = errors
  }
}

/** A body up to this length is read at once: that takes less time than to wait for another turn of the event loop. */
const AT_ONCE_MAX_CHARS = 16_384

/** Makes a source's route. Everything that `route` does not define works as for `/v1/ingest`. */
export function translatedRoute<Own extends OwnSettings>(route: TranslatedRoute<Own>): SourceRoute<Own> {
  const { eventsMax = EVENT_LIMITS.eventsMaxPerRequest, countsNoIp = false, translate, answer, ...facts } = route
  return {
    beginsTogether: true,
    ...facts,
    open({ keep, settings }) {
      function* read(text: string, exchange: Exchange, caller: Caller): SlicedWork<ReadRequest> {
        const translated = translate(text, exchange, settings, caller)
        const objects = Symbol.iterator in translated && !('next' in translated) ? translated : yield* translated
        return yield* readObjects(objects, { eventsMax, countsNoIp, archived: caller.tenant.archive })
      }
      const store = (found: ReadRequest, exchange: Exchange, caller: Caller) => {
        const { text, read: events, rejected, received, noIp } = found
        const respond: Parameters<typeof keep>[4] = ({ filtered, invalidIp }, kept) => {
          const ok = events.length - filtered - invalidIp
          const tally = { received, ok, filtered, invalidIp, noIp, rejected }
          return { ...answer(tally, exchange), after: kept }
        }
        return keep(text, events, exchange, caller, respond, othersOf(rejected, noIp))
      }
      return (exchange: Exchange, caller: Caller) =>
        andThen(facts.bodyMaxBytes === undefined ? '' : exchange.text(), (body) => {
          const work = read(body, exchange, caller)
          const found = body.length > AT_ONCE_MAX_CHARS ? exchange.inSlices(work) : atOnce(work)
          return andThen(found, (request) => store(request, exchange, caller))
        })
    },
  }
}

interface ReadRequest {
  /** The JSON of the valid events if it is archived, else `''`. */
  readonly text: string
  readonly read: readonly ReadEvent[]
  readonly rejected: readonly RejectedEvent[]
  readonly received: number
  readonly noIp: number
}

interface ReadingOptions extends Required<Pick<TranslatedRoute<OwnSettings>, 'eventsMax' | 'countsNoIp'>> {
  readonly archived: boolean
}

/** Checks objects against the schema of events, and reads the valid ones. */
function* readObjects(objects: Iterable<object>, options: ReadingOptions): SlicedWork<ReadRequest> {
  const { eventsMax, countsNoIp, archived } = options
  let text = ''
  const read: ReadEvent[] = []
  const rejected: RejectedEvent[] = []
  let received = 0
  let noIp = 0
  let chars = 0
  for (const event of objects) {
    const index = received++
    if (received > eventsMax) throw new HttpError('too_many_events', `the body has more than ${eventsMax} events`)
    if (received % EVENTS_PER_YIELD === 0 || chars > CHARS_PER_YIELD) {
      chars = 0
      yield
    }
    if (event instanceof RefusedEvent) {
      rejected.push({ index, errors: event.errors })
      continue
    }
    if (countsNoIp && !hasIp(event)) {
      noIp++
      continue
    }
    const errors = isValueTooDeep(event) ? TOO_DEEP_ERRORS : check(event)
    if (errors.length > 0) {
      rejected.push({ index, errors })
      continue
    }
    const start = text.length
    if (archived) text += stringifyExactly(event)
    const readEvent = readObject(event as EventEnvelope, start, text.length)
    chars += charsOf(readEvent)
    read.push(readEvent)
  }
  return { text, read, rejected, received, noIp }
}

const EVENTS_PER_YIELD = 16
const CHARS_PER_YIELD = 32_768

function hasIp(event: object): boolean {
  return 'ip' in event && event.ip !== undefined
}

/** Counts each rejected event by its first error, which quotes nothing of the event. */
function othersOf(rejected: readonly RejectedEvent[], noIp: number): readonly OtherEvents[] | undefined {
  if (rejected.length === 0 && noIp === 0) return undefined
  const others = rejected.map(({ errors: [first] }) => {
    const reason = `${first!.path === '' ? 'the event' : first!.path} ${first!.message}`
    return { status: OUTCOME_STATUS.rejected as string, reason, events: 1 }
  })
  if (noIp > 0) others.push({ status: OUTCOME_STATUS.noIp, reason: '', events: noIp })
  return others
}
