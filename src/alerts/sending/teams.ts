import {
  type DigestLine,
  digestSubject,
  factsIn,
  linesIn,
  type Message,
  type MessageData,
  nameOf,
  oneLine,
  openText,
  whyOf,
} from '../messages.ts'

/** Teams refuses messages of more than about 28 KB. */
const LINES_BYTES_MAX = 20_000
/** The newest version that Teams shows on every device. */
const VERSION = '1.4'

interface TextRun {
  readonly type: 'TextRun'
  readonly text: string
  readonly weight?: 'Bolder'
  readonly isSubtle?: true
}

/**
 * The body for a workflow of Microsoft Teams that begins with "When a Teams webhook request is received": one Adaptive Card. Its texts are
 * text runs, which have no markup, so a name cannot add any.
 */
export function teamsBody(message: Message): string {
  const { url } = message.data
  const lines = linesIn(message.data)
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    ...{ type: 'AdaptiveCard', version: VERSION },
    body: lines === undefined ? singleElements(message) : digestElements(message.data, lines),
    actions: [{ type: 'Action.OpenUrl', title: openText(message.data), url }],
  }
  const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }
  return JSON.stringify({ type: 'message', attachments: [attachment] })
}

function singleElements(message: Message): object[] {
  const name = nameOf(message.data)
  return [
    line(run(`${name} `, { weight: 'Bolder' }), run(whyOf(message))),
    ...factsIn(message).map(([label, value]) => line(run(`${label}: `, { isSubtle: true }), run(value))),
  ]
}

function digestElements(data: MessageData, lines: readonly DigestLine[]): object[] {
  const elements = [line(run(digestSubject(data), { weight: 'Bolder' }))]
  let bytes = 0
  let listed = 0
  for (const { name, why, url } of lines) {
    const opens = { selectAction: { type: 'Action.OpenUrl', url } }
    const element = line({ ...run(`${name} `, { weight: 'Bolder' }), ...opens }, run(why))
    bytes += Buffer.byteLength(JSON.stringify(element))
    if (bytes > LINES_BYTES_MAX) break
    elements.push(element)
    listed++
  }
  const rest = (data.total ?? 0) - listed
  return [...elements, ...(rest > 0 ? [line(run(`and ${rest} more`, { isSubtle: true }))] : [])]
}

function line(...inlines: readonly TextRun[]): object {
  return { type: 'RichTextBlock', inlines }
}

function run(text: string, style: Pick<TextRun, 'weight' | 'isSubtle'> = {}): TextRun {
  return { type: 'TextRun', text: oneLine(text), ...style }
}
