import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { flagOf, SETTINGS } from '../../../src/config/settings.ts'

const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')

/** Rows of the README's table: variable, flag, default, text. */
function tableRows(): string[] {
  return readme.split('\n').filter((line) => /^\| `[A-Z_]+` \| `--/.test(line))
}

test('the README lists every setting as it is', () => {
  const expected = Object.values(SETTINGS).map((setting) => {
    const fallback = setting.default === undefined ? '' : `\`${setting.default}\``
    return `| \`${setting.env}\` | \`${flagOf(setting)}\` | ${fallback} | ${setting.about.replaceAll('|', '\\|')} |`
  })
  assert.deepEqual(tableRows(), expected, `\n${expected.join('\n')}\n`)
})
