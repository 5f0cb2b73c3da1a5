import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { FIELD_CHARS_MAX, fieldText } from '../../../src/enrichment/field-text.ts'
import { runCommand } from '../../support/command.ts'
import { mmdb, temporaryFolder } from '../../support/enrichment-data.ts'

/** A name as a hostile file has it: line breaks, a control character, and marks that change the direction of text. */
const HOSTILE = 'Acme\r\nasn   1\u001b[2J \u202eevil\u2066\u2028 Inc. '
const CLEAN = /^[^\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]*$/u
const LONG = `${HOSTILE}${'x'.repeat(2 ** 20)}`

test('text of a file is one line of a bounded length', () => {
  assert.equal(fieldText('Acme Inc.'), 'Acme Inc.')
  assert.equal(fieldText(HOSTILE), 'Acme asn 1 [2J evil Inc.')
  assert.equal(fieldText('a\u200db שלום'), 'a\u200db שלום', 'letters of other scripts stay, with their joiners')
  assert.equal(fieldText(LONG).length, FIELD_CHARS_MAX)
  assert.equal(
    fieldText(`${'x'.repeat(FIELD_CHARS_MAX - 1)}😀`),
    'x'.repeat(FIELD_CHARS_MAX - 1),
    'no half a character',
  )
})

test('no file of ENRICH_DIR makes an answer long, or prints a line or a control character', async (t) => {
  const dir = await temporaryFolder(t)
  const company = { name: LONG, domain: 'acme.example', as_name: HOSTILE, type: 'business' }
  writeFileSync(join(dir, 'a.mmdb'), mmdb('IPinfo company', { '81.2.69.0/24': { ...company, [LONG]: 'key' } }))
  const unknown = mmdb(`Nonsense ${LONG}`, { '81.2.69.0/24': { [LONG]: 'key' } })
  writeFileSync(join(dir, 'unknown.mmdb'), unknown)
  const cell = `"${HOSTILE.replaceAll('"', '')}${'y'.repeat(5_000)}"`
  writeFileSync(join(dir, 'b.csv'), `network,business_name,industry\n81.2.70.0/25,${cell},${cell}\n`)
  const row = { network: '81.2.70.128/25', business_name: LONG.slice(0, 50_000), description: HOSTILE }
  writeFileSync(join(dir, 'c.ndjson'), `${JSON.stringify(row)}\n`)
  writeFileSync(join(dir, 'hosting-d.csv'), `81.2.71.0/24,DE,DE-BE,${cell},10115\n`)
  const ips = ['81.2.69.1', '81.2.70.1', '81.2.70.129', '81.2.71.1']
  const env = { ENRICH_DIR: dir, DEFAULT_DATA: 'off', DATA_DIR: join(dir, 'data') }
  const json = await runCommand(['enrich', '--json', '--explain', ...ips], { env })
  assert.equal(json.code, 0, json.stderr)
  const answers = json.stdout.trim().split('\n')
  assert.equal(answers.length, ips.length)
  assert.equal(json.stdout.match(/Acme/g)!.length >= 4, true, json.stdout.slice(0, 2_000))
  for (const answer of answers) {
    assert.ok(answer.length < 10_000, `${answer.length}: ${answer.slice(0, 500)}`)
    for (const value of Object.values((JSON.parse(answer) as { data: object }).data)) assert.match(String(value), CLEAN)
  }
  const text = await runCommand(['enrich', ...ips, 'no\nasn   13335\u001b[2J'], { env })
  for (const line of text.stdout.split('\n')) {
    assert.match(line, CLEAN)
    assert.ok(!/^asn {3}1/.test(line) && line.length < 1_000, line.slice(0, 200))
  }
  const check = await runCommand(['db', 'check', dir], { env })
  assert.ok(check.stdout.length + check.stderr.length < 20_000, `${check.stdout.length} ${check.stderr.length}`)
})
