import { cutText } from '../../run/cut-text.ts'
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

/** Slack cuts a text at 40,000 characters. */
const LINES_MAX = 50
/** Limits of blocks (Block Kit): the text of a section, one of its fields, the URL of a button. */
const SECTION_CHARS_MAX = 3_000
const FIELD_CHARS_MAX = 2_000
const URL_CHARS_MAX = 3_000

/**
 * The body for an incoming webhook of Slack: blocks (Block Kit), and the text that notifications show. Names cannot add markup: it is taken
 * out of sentences, and facts are plain text.
 */
export function slackBody(message: Message): string {
  const { url } = message.data
  const lines = linesIn(message.data)
  const blocks = lines === undefined ? singleBlocks(message) : digestBlocks(message.data, lines)
  const label = openText(message.data)
  const hasButton = url.length <= URL_CHARS_MAX
  return JSON.stringify({ text: slackText(message), blocks: [...blocks, ...(hasButton ? [button(label, url)] : [])] })
}

/** A message in the markup of Slack, without blocks. */
export function slackText(message: Message): string {
  const lines = linesIn(message.data)
  if (lines !== undefined) return digestText(message.data, lines).join('\n')
  const facts = factsIn(message).map(([label, value]) => `${label}: ${escaped(value)}`)
  return [sentence(message), ...facts].join('\n')
}

function singleBlocks(message: Message): object[] {
  const fields = factsIn(message).map(([label, value]) => ({
    ...{ type: 'plain_text', emoji: false },
    text: cutText(`${label}\n${value}`, FIELD_CHARS_MAX),
  }))
  return [section(sentence(message)), ...(fields.length === 0 ? [] : [{ type: 'section', fields }])]
}

/** As few sections as hold all lines. */
function digestBlocks(data: MessageData, lines: readonly DigestLine[]): object[] {
  const texts: string[] = []
  for (const line of digestText(data, lines)) {
    const last = texts.at(-1)
    if (last === undefined || last.length + 1 + line.length > SECTION_CHARS_MAX) texts.push(line)
    else texts[texts.length - 1] = `${last}\n${line}`
  }
  return texts.map(section)
}

function digestText(data: MessageData, lines: readonly DigestLine[]): string[] {
  const listed = lines.slice(0, LINES_MAX)
  const rest = (data.total ?? 0) - listed.length
  return [
    `*${link(data.url, digestSubject(data))}*`,
    ...listed.map(({ name, why, url }) => `${link(url, name)} ${escaped(why)}`),
    ...(rest > 0 ? [`and ${rest} more`] : []),
  ]
}

function sentence(message: Message): string {
  return `*${link(message.data.url, nameOf(message.data))}* ${escaped(whyOf(message))}`
}

/** `verbatim`: Slack makes no links of its own from names. */
function section(text: string): object {
  return { type: 'section', text: { type: 'mrkdwn', text: cutText(text, SECTION_CHARS_MAX), verbatim: true } }
}

function button(label: string, url: string): object {
  const text = { type: 'plain_text', text: label, emoji: false }
  return { type: 'actions', elements: [{ type: 'button', text, url, action_id: 'open' }] }
}

function link(url: string, text: string): string {
  return `<${url}|${escaped(text)}>`
}

function escaped(text: string): string {
  return oneLine(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(/[*_~`|]/g, ' ')
}
