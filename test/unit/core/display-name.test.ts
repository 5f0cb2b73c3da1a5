import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AlertAdmin } from '../../../src/alerts/admin.ts'
import { CompanyCorrections } from '../../../src/companies/corrections/corrections.ts'
import { Segments } from '../../../src/companies/segments/segments.ts'
import { validName } from '../../../src/dashboard/server/people.ts'
import { readDisplayName } from '../../../src/run/display-name.ts'
import { InputError } from '../../../src/run/errors.ts'
import { TenantAdmin } from '../../../src/tenants/admin.ts'

/** Characters that hide or turn the text around them, or break its line. */
const MISLEADING = [
  ...['\0', '\n', '\r', '\t', '\u001b', '\u007f', '\u0085', '\u2028', '\u2029', '\u00ad', '\u061c', '\u200b'],
  ...['\u200e', '\u200f', '\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2060', '\u2066', '\u2067', '\u2068'],
  ...['\u2069', '\ufeff', '\ud83d', '\udc4b'],
]
const GOOD = [
  'Keen',
  'Müller & Söhne <GmbH>',
  '会社',
  'شركة',
  'می\u200cخواهم',
  '👩\u200d💻 crew',
  '🏴 "x"',
  "O'Neil",
  '-',
]

/** As each kind of name is read. Nothing is stored here: a name that passes ends in an error of the missing store. */
const READERS: Readonly<Record<string, (name: string) => unknown>> = {
  alert: (name) =>
    new AlertAdmin({} as never).create('acme', {
      name,
      on: 'company.first_seen',
      to: 'webhook',
      target: 'https://a.example',
    }),
  segment: (name) => new Segments(undefined as never, { now: () => 0 }).create('acme', name, 'country=DE'),
  person: (name) => validName(name),
  source: (name) =>
    new TenantAdmin({ store: undefined as never, plans: undefined as never, clock: { now: () => 0 } }).setSource(
      'src_0123456',
      { name },
    ),
  company: (name) => correct({ name }),
  owner: (owner) => correct({ owner }),
  tag: (tag) => correct({ add_tags: [tag] }),
}

function correct(wanted: object): Promise<unknown> {
  const none = () => {
    throw new Error('no store')
  }
  const corrections = new CompanyCorrections(none, { now: () => 0 }, none)
  return corrections.correct('acme', { companies: ['a.example'], wanted, by: 'Ada' } as never)
}

for (const [kind, read] of Object.entries(READERS)) {
  test(`a name is one visible line: ${kind}`, async () => {
    const refused = async (name: string) => {
      try {
        await read(name)
      } catch (error) {
        return error instanceof InputError
      }
      return false
    }
    for (const mark of MISLEADING) {
      assert.ok(await refused(`a${mark}b`), `U+${mark.charCodeAt(0).toString(16)} is taken`)
    }
    for (const name of GOOD) assert.ok(!(await refused(name)), `${name} is refused`)
  })
}

test('a name is trimmed, and bounded', () => {
  assert.equal(readDisplayName('  Keen ', 'a name', 4), 'Keen')
  for (const name of ['', '  ', '\u3164', '\u2800 \u115f', 'Keenly']) {
    assert.throws(() => readDisplayName(name, 'a name', 4), /^InputError: a name must be one line of 1 to 4 characters/)
  }
})

test('no person is called like an author of changes that is no person', () => {
  for (const name of [
    'HubSpot',
    ' hubspot ',
    'command  line',
    'Command Line',
    'An  operator',
    'ＡＤＭＩＮ',
    'ipid support',
  ])
    assert.throws(() => validName(name), /^InputError: ".*" is a name that ipid itself uses: choose another one$/)
  assert.equal(validName('HubSpot Admin'), 'HubSpot Admin')
})
