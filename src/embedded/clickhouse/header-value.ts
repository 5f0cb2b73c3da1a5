import { Code, Exception } from './exception.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what it looks for
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/

/**
 * Makes a response header's value from a client's text: its UTF-8 bytes, as ClickHouse sends them.
 * @param what names the text in the error
 * @throws Exception when the text has a control character, such as a line break
 */
export function headerValue(what: string, text: string): string {
  if (CONTROL.test(text)) {
    throw new Exception(Code.BadArguments, `${what} must not contain control characters. (BAD_ARGUMENTS)`)
  }
  // Node writes a header's characters as bytes.
  return Buffer.from(text, 'utf8').toString('latin1')
}
