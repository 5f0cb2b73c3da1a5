import { randomBytes } from 'node:crypto'
import { endOfString } from '../../event/json-depth.ts'

/** Marks numbers that a double cannot hold. Not to be guessed, so that no sender can write one. */
const MARK = `number ${randomBytes(12).toString('hex')} `
/** Only after punctuation: ids in strings often have as many digits, or an e between two. */
const LONG_NUMBER = /[[:,\s]-?\d(?:[\d.]{15}|[\d.]{0,15}[eE])/

/**
 * Parses JSON. Numbers with more digits than a double holds become texts, which `stringifyExactly` turns back.
 * @param parse throws when the text is not JSON
 */
export function parseExactly(text: string, parse: (text: string) => unknown = JSON.parse): unknown {
  const value = parse(text)
  if (!LONG_NUMBER.test(text)) return value
  return JSON.parse(withMarks(text))
}

/** An expression for whole strings would overflow the stack at some megabytes. @param text valid JSON */
function withMarks(text: string): string {
  const quoteOrNumber = /"|-?\d[\d.eE+-]*/g
  const parts: string[] = []
  let copied = 0
  for (let match = quoteOrNumber.exec(text); match !== null; match = quoteOrNumber.exec(text)) {
    const { 0: found, index } = match
    if (found === '"') {
      quoteOrNumber.lastIndex = endOfString(text, index)
    } else if (!isExact(found)) {
      parts.push(text.slice(copied, index), `"${MARK}${found}"`)
      copied = quoteOrNumber.lastIndex
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
