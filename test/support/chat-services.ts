import { createRequire } from 'node:module'

/** The answer of a chat service to a webhook. */
export interface ChatAnswer {
  readonly status: number
  readonly text: string
}

const object = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function parsed(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body)
    return object(value) ? value : undefined
  } catch {
    return undefined
  }
}

const isText = (value: unknown, types: readonly string[], max: number) =>
  object(value) &&
  types.includes(String(value.type)) &&
  typeof value.text === 'string' &&
  value.text.length >= 1 &&
  value.text.length <= max &&
  (value.emoji === undefined || value.type === 'plain_text') &&
  (value.verbatim === undefined || value.type === 'mrkdwn')

function isButton(value: unknown): boolean {
  return (
    object(value) &&
    value.type === 'button' &&
    isText(value.text, ['plain_text'], 75) &&
    typeof value.action_id === 'string' &&
    value.action_id.length <= 255 &&
    typeof value.url === 'string' &&
    value.url.length <= 3_000 &&
    URL.canParse(value.url)
  )
}

function isBlock(value: unknown): boolean {
  if (!object(value)) return false
  if (value.type === 'section') {
    const { text, fields } = value
    const areFields =
      Array.isArray(fields) &&
      fields.length >= 1 &&
      fields.length <= 10 &&
      fields.every((field) => isText(field, ['plain_text', 'mrkdwn'], 2_000))
    return (text !== undefined || areFields) && (text === undefined || isText(text, ['plain_text', 'mrkdwn'], 3_000))
  }
  const { type, elements } = value
  return type === 'actions' && Array.isArray(elements) && elements.length <= 25 && elements.every(isButton)
}

/**
 * Answers as an incoming webhook of Slack. As the reference of Block Kit says: at most 50 blocks; a section has a text of 1 to 3,000
 * characters or 1 to 10 fields of at most 2,000; a button has a plain text of at most 75 and a URL of at most 3,000.
 */
export function slackAnswer(body: string): ChatAnswer {
  const message = parsed(body)
  if (message === undefined) return { status: 400, text: 'invalid_payload' }
  const { text, blocks } = message
  if (typeof text !== 'string' || text === '' || text.length > 40_000) return { status: 400, text: 'no_text' }
  const isValid = blocks === undefined || (Array.isArray(blocks) && blocks.length <= 50 && blocks.every(isBlock))
  return isValid ? { status: 200, text: 'ok' } : { status: 400, text: 'invalid_blocks' }
}

interface CardEvent {
  readonly message: string
}

/** The part of the package that reads cards. Its module for Node.js cannot be imported, its bundle can. */
interface AdaptiveCards {
  readonly Versions: { readonly v1_4: unknown }
  readonly SerializationContext: new (
    version: unknown,
  ) => { readonly eventCount: number; getEventAt(index: number): CardEvent }
  readonly AdaptiveCard: new () => {
    parse(source: unknown, context: unknown): void
    toJSON(): unknown
    validateProperties(): { readonly validationEvents: readonly CardEvent[] }
  }
}

const { AdaptiveCard, SerializationContext, Versions } = createRequire(import.meta.url)(
  'adaptivecards/dist/adaptivecards.js',
) as AdaptiveCards

const TEAMS_BYTES_MAX = 28 * 1_024

/**
 * Answers as the trigger "When a Teams webhook request is received": 202 for a message whose attachments are Adaptive Cards of at most about
 * 28 KB. Microsoft's own reader of cards (package `adaptivecards`) must understand every element and property.
 */
export function teamsAnswer(body: string): ChatAnswer {
  const message = parsed(body)
  if (message?.type !== 'message' || !Array.isArray(message.attachments)) return refused('no message with attachments')
  if (Buffer.byteLength(body) > TEAMS_BYTES_MAX) return { status: 413, text: 'Request Entity too large' }
  for (const attachment of message.attachments as unknown[]) {
    if (!object(attachment) || attachment.contentType !== 'application/vnd.microsoft.card.adaptive')
      return refused('an attachment is no Adaptive Card')
    const problems = problemsOf(attachment.content)
    if (problems.length > 0) return refused(problems.join('; '))
  }
  return { status: 202, text: '' }
}

function problemsOf(content: unknown): string[] {
  const card = new AdaptiveCard()
  const context = new SerializationContext(Versions.v1_4)
  card.parse(content, context)
  const read = Array.from({ length: context.eventCount }, (_, i) => context.getEventAt(i).message)
  const validated = card.validateProperties().validationEvents.map(({ message }) => message)
  // An unknown property is left out without an event.
  const isWhole = JSON.stringify(sorted(card.toJSON())) === JSON.stringify(sorted(content))
  return [...read, ...validated, ...(isWhole ? [] : ['a property is unknown'])]
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!object(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  )
}

function refused(text: string): ChatAnswer {
  return { status: 400, text }
}
