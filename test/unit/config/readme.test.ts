import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ingest } from '../../../pipelines/ingest.ts'
import { flagOf, SETTINGS } from '../../../src/config/settings.ts'
import { settingsOf } from '../../../src/pipeline/declaration/pipeline.ts'

const readme = readFileSync(new URL('../../../src/config/README.md', import.meta.url), 'utf8')

/** Rows of the table of src/config/README.md: variable, flag, default, text. */
function tableRows(): string[] {
  return readme.split('\n').filter((line) => /^\| `[A-Z_]+` \| `--/.test(line))
}

test('src/config/README.md lists every setting as it is', () => {
  const expected = [...Object.values(SETTINGS), ...settingsOf(ingest)].map((setting) => {
    const fallback = setting.default === undefined ? '' : `\`${setting.default}\``
    return `| \`${setting.env}\` | \`${flagOf(setting)}\` | ${fallback} | ${setting.about.replaceAll('|', '\\|')} |`
  })
  assert.deepEqual(tableRows(), expected, `\n${expected.join('\n')}\n`)
})

test('the settings name the limits that the pipeline declares', () => {
  const { waitingEventsMax, deliveriesMax } = ingest.limits
  assert.match(SETTINGS.intakeHighWaterEvents.about, new RegExp(`unset: ${waitingEventsMax},`))
  assert.match(SETTINGS.deliveriesMax.about, new RegExp(`unset: ${deliveriesMax},`))
})
