import { randomBytes } from 'node:crypto'

/** Marks numbers that a double cannot hold. Not to be guessed, so that no sender can write one. */
const MARK = `number ${randomBytes(12).toString('hex')} `
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g
const LONG_NUMBER = /\d[\d.]{15}|\d[eE][+-]?\d/

/**
 * Parses JSON. Numbers with more digits than a double holds become texts, which `stringifyExactly` turns back.
 * @param parse throws when the text is not JSON
 */
export function parseExactly(text: string, parse: (text: string) => unknown = JSON.parse): unknown {
  const value = parse(text)
  if (!LONG_NUMBER.test(text)) return value
  return JSON.parse(
    text.replace(STRING_OR_NUMBER, (found) => (found[0] === '"' || isExact(found) ? found : `"${MARK}${found}"`)),
  )
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
