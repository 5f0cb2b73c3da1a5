/* The text of API keys, for stores, commands and pages. */

/** The beginning of an API key. Hexadecimal digits follow. */
export const KEY_START = 'ipid_'

/** The beginning of a test key: nothing that comes with it is stored. */
export const TEST_KEY_START = `${KEY_START}test_`

/** These first digits of a key are no secret, and identify it. */
const PREFIX_DIGITS = 7

/** Whether an API key, its prefix, or the beginning of one is that of a test key. */
export function isTestKey(text: string): boolean {
  return text.startsWith(TEST_KEY_START)
}

/** Characters of a key's prefix: 12, of a test key 17. @param text the key, or its beginning */
export function prefixCharsOf(text: string): number {
  return (isTestKey(text) ? TEST_KEY_START : KEY_START).length + PREFIX_DIGITS
}
