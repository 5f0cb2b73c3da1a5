import { rudderstackTime, segmentTime } from './clock.ts'
import {
  copyWithout,
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
  'receivedAt',
  'type',
  'event',
  'properties',
  'context',
  'traits',
  'userId',
  'anonymousId',
  'writeKey',
  'request_ip',
]
/** The traits of a group are those of the company, not of the user. */
const PLACED_OF_GROUP = PLACED.filter((field) => field !== 'traits')

/** The tools whose calls have Segment's form. */
export type CallTool = 'segment' | 'rudderstack'

/**
 * Reads a call of Segment's tracking API, or several. RudderStack's API has the same form, and a clock of its own.
 * @param payload the body: `{type, messageId, timestamp, userId, context, properties, traits, …}`, `{batch: […], sentAt, context}`, or
 * an array of calls, as webhooks of Segment send them
 * @param type the call that the path names; undefined: each call names its own
 * @param tool name of the property that takes the fields of a call that have no place of their own
 * @param receivedAtMs milliseconds since the epoch
 */
export function readCalls(
  payload: unknown,
  type: string | undefined,
  tool: CallTool,
  receivedAtMs: number,
): readonly ToolEvent[] {
  const body = objectOf(payload)
  const { sentAt } = body
  const batch = Array.isArray(payload) ? payload : body.batch
  if (!Array.isArray(batch)) return [readCall(body, objectOf(body.context), type, tool, sentAt, receivedAtMs)]
  return batch.map((entry) => {
    const call = objectOf(entry)
    const own = objectOf(call.context)
    // The context of a batch holds for all of its calls.
    const context = body.context === undefined ? own : { ...objectOf(body.context), ...own }
    return readCall(call, context, type, tool, call.sentAt ?? sentAt, receivedAtMs)
  })
}

function readCall(
  call: JsonObject,
  context: JsonObject,
  pathType: string | undefined,
  tool: CallTool,
  sentAt: unknown,
  receivedAtMs: number,
): ToolEvent {
  const library = objectOf(context.library).name
  const properties = objectOf(call.properties)
  const page = objectOf(context.page)
  const type = textOf(call.type) ?? pathType
  const traits = { ...objectOf(context.traits), ...(type === 'group' ? {} : objectOf(call.traits)) }
  const isSegment = tool === 'segment'
  const { timestamp, warning } = isSegment
    ? { timestamp: segmentTime(call, sentAt, receivedAtMs), warning: undefined }
    : rudderstackTime(call, sentAt, receivedAtMs)
  return {
    event_id: idOf(call.messageId),
    timestamp,
    event_type: type === 'track' ? idOf(call.event) : type,
    account_id: accountOf(call, context, traits, type),
    session_id: sessionIdOf(context.sessionId),
    platform: labelOf(library) ?? labelOf(call.channel ?? context.channel),
    properties: withRest(properties, tool, restOf(call, context, type, warning)),
    user_properties: userOf(call, traits),
    page: pageOf(properties.url ?? page.url, properties.referrer ?? page.referrer, context.campaign),
    ip: textOf(context.ip) ?? (context.direct === true ? REMOTE : requestAddress(call, context)),
    library,
  }
}

/** RudderStack says in what it sends on which address the request had. That of a server library came from the customer's server. */
function requestAddress(call: JsonObject, context: JsonObject): string | undefined {
  return (call.channel ?? context.channel) === 'server' ? undefined : textOf(call.request_ip)
}

/** Everything of a call that has no place of its own. */
function restOf(
  call: JsonObject,
  context: JsonObject,
  type: string | undefined,
  warning: string | undefined,
): JsonObject {
  const rest = copyWithout(call, type === 'group' ? PLACED_OF_GROUP : PLACED)
  // The address has a column of its own, which tenants may have masked.
  const left = unlessEmpty(without(context, 'ip'))
  if (left !== undefined) rest.context = left
  if (warning !== undefined) rest.timestamp_warning = warning
  return rest
}

function userOf({ userId, anonymousId }: JsonObject, traits: JsonObject): JsonObject | undefined {
  const user = copyWithout(traits)
  if (userId !== undefined && userId !== null) user.userId = userId
  if (anonymousId !== undefined && anonymousId !== null) user.anonymousId = anonymousId
  return unlessEmpty(user)
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
