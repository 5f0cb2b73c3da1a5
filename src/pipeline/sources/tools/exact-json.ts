import { randomBytes } from 'node:crypto'
import { endOfString } from '../../event/json-depth.ts'

/** Marks numbers that a double cannot hold. It is random, so that no sender can write one. */
const MARK = randomBytes(9).toString('base64url')
/** Only after punctuation: ids in strings often have as many digits, or an e between two. */
const LONG_NUMBER = /[[:,\s]-?\d(?:[\d.]{15}|[\d.]{0,15}[eE])/
/** A string's first quote, or a whole number as JSON writes it: text that is no JSON stays so with marks. */
const QUOTE_OR_NUMBER = /"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/**
 * Parses JSON once. Numbers with more digits than a double holds become texts, which `stringifyExactly` turns back.
 * @param text each number like that makes it longer by 14 characters while it is parsed, so bound the number of its values first
 * @param parse throws when the text is not JSON
 */
export function parseExactly(text: string, parse: (text: string) => unknown = JSON.parse): unknown {
  if (!LONG_NUMBER.test(text)) return parse(text)
  try {
    return JSON.parse(withMarks(text))
  } catch {
    // It is not JSON: the message has to name positions without marks.
    return parse(text)
  }
}

/** An expression for whole strings would overflow the stack at some megabytes. */
function withMarks(text: string): string {
  const parts: string[] = []
  let copied = 0
  QUOTE_OR_NUMBER.lastIndex = 0
  for (let match = QUOTE_OR_NUMBER.exec(text); match !== null; match = QUOTE_OR_NUMBER.exec(text)) {
    const { 0: found, index } = match
    if (found === '"') {
      const end = endOfString(text, index)
      if (end < 0) break
      QUOTE_OR_NUMBER.lastIndex = end
    } else if (!isExact(found)) {
      parts.push(text.slice(copied, index), `"${MARK}${found}"`)
      copied = QUOTE_OR_NUMBER.lastIndex
    }
  }
  return parts.join('') + text.slice(copied)
}

function isExact(number: string): boolean {
  return String(Number(number)) === number
}

/** Makes JSON of a value of `parseExactly`. Its numbers have all of their digits. */
export function stringifyExactly(value: unknown): string {
  const text = JSON.stringify(value)
  if (!text.includes(MARK)) return text
  const [first, ...others] = text.split(`"${MARK}`)
  return first + others.map((part) => part.replace('"', '')).join('')
}

/** The text of a number that has more digits than a double holds; any other value as it is. */
export function unmarked(value: unknown): unknown {
  return typeof value === 'string' && value.startsWith(MARK) ? value.slice(MARK.length) : value
}
