import { EVENT_LIMITS, EventEnvelope } from '../../../../schemas/api/event.ts'
import { OUTCOME_STATUS } from '../../../../schemas/outcome.ts'
import type { OwnSettings, OwnValues } from '../../../config/setting.ts'
import type { Exchange } from '../../../http/engine/exchange.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { HttpResponse } from '../../../http/engine/response.ts'
import { andThen } from '../../../run/and-then.ts'
import type { Caller } from '../../../tenants/tenancy.ts'
import type { OtherEvents, SourceRoute } from '../../declaration/source.ts'
import { isTooDeep, TOO_DEEP } from '../../event/json-depth.ts'
import type { ReadEvent } from '../../event/read-event.ts'
import { compileValidator, type FieldError } from '../../event/validator.ts'
import { codesOf } from './json-scan.ts'
import { scanEventLine } from './scan-events.ts'
import { sliceEvent } from './slice-event.ts'

/** What became of the events of a request. */
export interface Tally {
  /** All of them. */
  readonly received: number
  /** Stored, or a repeat of one that is. */
  readonly ok: number
  /** Noise, and addresses that are none: counted, and not stored. */
  readonly filtered: number
  readonly invalidIp: number
  /** Not an event. Counted by the first of its errors, and not stored; it stops no other event. */
  readonly rejected: readonly RejectedEvent[]
}

export interface RejectedEvent {
  /** Position among the events of the request, from 0. */
  readonly index: number
  readonly errors: readonly FieldError[]
}

/** A route whose requests have a form of their own. */
export interface TranslatedRoute<Own extends OwnSettings> extends Omit<SourceRoute<Own>, 'open' | 'streamsBody'> {
  /** Events that a request may have; more are answered 413. Default: as `/v1/ingest` takes. */
  readonly eventsMax?: number
  /**
   * Reads the events of a request. Each becomes an object of the form of `EventEnvelope`, which the archive is given as well, so that
   * a replay needs no source.
   * @param text the body, decoded; `''` when the route takes none
   * @throws HttpError that refuses the request whole
   */
  translate(text: string, exchange: Exchange, settings: OwnValues<Own>): readonly object[]
  /** Makes the response. It is sent when the events are on disk. */
  answer(tally: Tally): Pick<HttpResponse, 'status' | 'type' | 'headers'> & { readonly body: string }
}

const check = compileValidator(EventEnvelope)

/** Makes the route of a source out of what is its own: all else is as for `/v1/ingest`. */
export function translatedRoute<Own extends OwnSettings>(route: TranslatedRoute<Own>): SourceRoute<Own> {
  const { eventsMax = EVENT_LIMITS.eventsMaxPerRequest, translate, answer, ...facts } = route
  return {
    beginsTogether: true,
    ...facts,
    open({ keep, settings }) {
      return (exchange: Exchange, caller: Caller) =>
        andThen(facts.bodyMaxBytes === undefined ? '' : exchange.text(), (body) => {
          const events = translate(body, exchange, settings)
          if (events.length > eventsMax) {
            throw new HttpError(413, `the body has ${events.length} events, more than ${eventsMax}`)
          }
          const { text, read, rejected } = readObjects(events)
          const respond: Parameters<typeof keep>[4] = ({ filtered, invalidIp }, kept) => {
            const ok = read.length - filtered - invalidIp
            return { ...answer({ received: events.length, ok, filtered, invalidIp, rejected }), after: kept }
          }
          return keep(text, read, exchange, caller, respond, countsOf(rejected))
        })
    },
  }
}

interface ReadObjects {
  /** The JSON of the events that are read, one a line. */
  readonly text: string
  readonly read: readonly ReadEvent[]
  readonly rejected: readonly RejectedEvent[]
}

/** Holds objects to the schema of events, and reads those that fit from their JSON, as lines of uploads are read. */
function readObjects(events: readonly object[]): ReadObjects {
  const texts = events.map((event) => JSON.stringify(event))
  const text = texts.join('\n')
  const codes = codesOf(text)
  const read: ReadEvent[] = []
  const rejected: RejectedEvent[] = []
  let start = 0
  for (const [index, event] of events.entries()) {
    const json = texts[index]!
    const end = start + json.length
    const found = isTooDeep(json) ? undefined : scanEventLine(text, codes, start, end)
    if (found !== undefined) {
      read.push(found)
    } else {
      const errors = isTooDeep(json) ? [{ path: '', message: TOO_DEEP }] : check(event)
      if (errors.length > 0) rejected.push({ index, errors })
      else read.push(sliceEvent(text, start, event as EventEnvelope))
    }
    start = end + 1
  }
  return { text, read, rejected }
}

/** By the first error of each: its path is of the schema, and quotes nothing of the event. */
function countsOf(rejected: readonly RejectedEvent[]): readonly OtherEvents[] | undefined {
  if (rejected.length === 0) return undefined
  return rejected.map(({ errors: [first] }) => {
    const reason = `${first!.path === '' ? 'the event' : first!.path} ${first!.message}`
    return { status: OUTCOME_STATUS.rejected, reason, events: 1 }
  })
}
