import { Code, Exception } from './exception.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: it searches for these characters
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/

/**
 * Converts text of a client to a response header's value. Like ClickHouse, it sends the UTF-8 bytes.
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
