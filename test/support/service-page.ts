import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

const PAGE = readFileSync(new URL('../../src/operations/service/README.md', import.meta.url), 'utf8')

/** The block of code of the page about the service that begins with a text. */
export function blockOf(start: string): string {
  const block = [...PAGE.matchAll(/^```\w*\n(.*?)^```$/gms)].find(([, code]) => code!.startsWith(start))
  assert.ok(block !== undefined, start)
  return block[1]!
}
