import {
  correctedTime,
  idOf,
  type JsonObject,
  labelOf,
  objectOf,
  pageOf,
  REMOTE,
  sessionIdOf,
  type ToolEvent,
  textOf,
  unlessEmpty,
  without,
  withRest,
} from './tool-event.ts'

/** Fields of a call that have a place of their own in an event. */
const PLACED = [
  'messageId',
  'timestamp',
  'originalTimestamp',
  'sentAt',
  'type',
  'event',
  'properties',
  'context',
  'userId',
  'anonymousId',
  'writeKey',
]

/**
 * Reads a call of Segment's tracking API, or a batch of them. RudderStack's API has the same form.
 * @param payload the body: `{type, messageId, timestamp, userId, context, properties, traits, …}`, or `{batch: […], sentAt, context}`
 * @param type the call that the path names; undefined: each call names its own
 * @param tool name of the property that takes the fields of a call that have no place of their own
 * @param receivedAtMs milliseconds since the epoch
 */
export function readCalls(
  payload: unknown,
  type: string | undefined,
  tool: string,
  receivedAtMs: number,
): readonly ToolEvent[] {
  const body = objectOf(payload)
  const { batch, sentAt } = body
  if (!Array.isArray(batch)) return [readCall(body, type, tool, sentAt, receivedAtMs)]
  return batch.map((entry) => {
    const call = objectOf(entry)
    // The context of a batch holds for all of its calls.
    const context = { ...objectOf(body.context), ...objectOf(call.context) }
    return readCall({ ...call, context }, type, tool, call.sentAt ?? sentAt, receivedAtMs)
  })
}

function readCall(
  call: JsonObject,
  pathType: string | undefined,
  tool: string,
  sentAt: unknown,
  receivedAtMs: number,
): ToolEvent {
  const context = objectOf(call.context)
  const library = objectOf(context.library).name
  const properties = objectOf(call.properties)
  const page = objectOf(context.page)
  const type = textOf(call.type) ?? pathType
  // The traits of a group are those of the company, not of the user.
  const traits = { ...objectOf(context.traits), ...(type === 'group' ? {} : objectOf(call.traits)) }
  const rest = without(call, ...PLACED, ...(type === 'group' ? [] : ['traits']))
  const ids = without({ userId: call.userId ?? undefined, anonymousId: call.anonymousId ?? undefined })
  return {
    event_id: idOf(call.messageId),
    timestamp: correctedTime(call.originalTimestamp ?? call.timestamp, sentAt, receivedAtMs),
    event_type: type === 'track' ? idOf(call.event) : type,
    account_id: accountOf(call, context, traits, type),
    session_id: sessionIdOf(context.sessionId),
    platform: labelOf(library) ?? labelOf(call.channel ?? context.channel),
    // The address has a column of its own, which tenants may have masked.
    properties: withRest(properties, tool, without({ ...rest, context: unlessEmpty(without(context, 'ip')) })),
    user_properties: unlessEmpty({ ...traits, ...ids }),
    page: pageOf(properties.url ?? page.url, properties.referrer ?? page.referrer, context.campaign),
    ip: textOf(context.ip) ?? (context.direct === true ? REMOTE : undefined),
    library,
  }
}

function accountOf(
  call: JsonObject,
  context: JsonObject,
  traits: JsonObject,
  type: string | undefined,
): string | undefined {
  const company = objectOf(traits.company)
  const groupId = type === 'group' ? call.groupId : (context.groupId ?? objectOf(context.group).id)
  return labelOf(groupId) ?? labelOf(company.id) ?? labelOf(company.name)
}
