import type { LiveEvent, LiveReport } from '../../../../schemas/live-event.ts'
import type { Clock } from '../../../run/clock.ts'
import type { Service } from '../../../run/service.ts'
import { Lifecycle } from '../../../run/service.ts'
import { type Address, parseAddress } from '../../event/address.ts'
import type { Enricher, Enrichment } from '../../event/enrichment.ts'
import { statusOf } from '../../event/envelope.ts'
import { judgementOf, shortText } from '../../event/judgement.ts'
import { LiveSample } from '../../event/live-sample.ts'
import type { EventContext, ReadEvent } from '../../event/read-event.ts'

/** Connects ingress processes with the viewers of a tenant's live events, by `tenantKey`. Stores nothing. */
export interface TailWire {
  /** Calls `onWanted` whenever a viewer asks for a tenant's events. */
  watch(onWanted: (tenant: string) => void): void
  /** Sends a report to the viewers. Never throws; without a viewer the report is lost. */
  tell(tenant: string, report: LiveReport): void
  close(): void
}

interface EventTailOptions {
  readonly wire: TailWire
  readonly clock: Clock
}

/** How long a viewer's request lasts. Viewers repeat it every 2 s. */
const WANTED_MS = 6_000
const TELL_EVERY_MS = 500
/** Events of each status per report: 10 a second. */
const EACH_MAX = 5
const TENANTS_MAX = 200

/** Watches one request for the viewers of its tenant. */
interface WatchedRequest {
  /** Remembers its answers for `accepted`: one for each event with an address, in their order. */
  readonly enricher: Enricher
  /** Must be called when the events are accepted. */
  accepted(events: readonly ReadEvent[], context: EventContext): void
}

/** Sends a sample of arriving events to viewers. Without a viewer it does nothing. */
export class EventTail implements Service {
  readonly name = 'tail'
  readonly #wire: TailWire
  readonly #clock: Clock
  readonly #wanted = new Map<string, { untilMs: number; readonly sample: LiveSample }>()
  #timer: NodeJS.Timeout | undefined
  readonly #life = new Lifecycle()

  constructor({ wire, clock }: EventTailOptions) {
    this.#wire = wire
    this.#clock = clock
  }

  start(): Promise<void> {
    return this.#life.start(async () => this.#wire.watch((tenant) => this.#want(tenant)))
  }

  stop(): Promise<void> {
    return this.#life.stop(async () => {
      clearInterval(this.#timer)
      this.#wanted.clear()
      this.#wire.close()
    })
  }

  /** Undefined: the tenant has no viewer. @param tenant its `tenantKey` */
  of(tenant: string, enricher: Enricher): WatchedRequest | undefined {
    const wanted = this.#wanted.get(tenant)
    if (wanted === undefined) return undefined
    const answers: Enrichment[] = []
    return {
      enricher: {
        enrich(address, claimed) {
          const enrichment = enricher.enrich(address, claimed)
          answers.push(enrichment)
          return enrichment
        },
      },
      accepted(events, context) {
        let answered = 0
        for (const event of events) {
          const address = parseAddress(event.ip)
          const enrichment = address && answers[answered++]
          wanted.sample.add(statusOf(enrichment), () => liveEvent(event, address, enrichment, context))
        }
      },
    }
  }

  #want(tenant: string): void {
    if (this.#life.isStopped) return
    const untilMs = this.#clock.now() + WANTED_MS
    const known = this.#wanted.get(tenant)
    if (known !== undefined) known.untilMs = untilMs
    else if (this.#wanted.size < TENANTS_MAX) {
      this.#wanted.set(tenant, { untilMs, sample: new LiveSample(EACH_MAX) })
      this.#timer ??= setInterval(() => this.#tell(), TELL_EVERY_MS).unref()
    }
  }

  #tell(): void {
    for (const [tenant, { untilMs, sample }] of this.#wanted) {
      const report = sample.take()
      if (report !== undefined) this.#wire.tell(tenant, report)
      if (untilMs < this.#clock.now()) this.#wanted.delete(tenant)
    }
    if (this.#wanted.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

function liveEvent(
  event: ReadEvent,
  address: Address | undefined,
  enrichment: Enrichment | undefined,
  { receivedAtMs, mask }: EventContext,
): LiveEvent {
  const page = pageOf(event)
  const title = titleOf(event)
  const judged = judgementOf(enrichment)
  const companyId = judged.status === 'ok' ? (enrichment?.companyId ?? '') : ''
  return {
    ...judged,
    received_at: new Date(receivedAtMs).toISOString(),
    event_type: shortText(event.eventType),
    // An invalid address is shown as sent, unless the tenant masks addresses.
    ip: mask === undefined ? shortText(address?.text ?? event.ip) : null,
    ...(page !== null && { page }),
    ...(title !== null && { title }),
    ...(companyId !== '' && { company_id: companyId }),
  }
}

/** A text among the top-level keys of an event, else among its properties. */
function textNamed(name: string, { extra, properties }: ReadEvent): string | undefined {
  for (const json of [extra, properties]) {
    if (!json.includes(`"${name}"`)) continue
    const value = (JSON.parse(json) as Readonly<Record<string, unknown>> | null)?.[name]
    if (typeof value === 'string') return value
  }
  return undefined
}

function titleOf(event: ReadEvent): string | null {
  return shortText(textNamed('title', event)?.trim())
}

/** Host and path of the page, without its query. */
function pageOf(event: ReadEvent): string | null {
  const url = textNamed('url', event)
  if (url === undefined || !URL.canParse(url)) return null
  const { host, pathname } = new URL(url)
  return shortText(host + pathname)
}
