import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { IMPORT_LIMITS } from '../../../schemas/api/company-import.ts'
import type { OwnColumn } from '../../../schemas/facts.ts'
import { columnsOf } from '../../../src/companies/imports/columns.ts'
import { readList } from '../../../src/companies/imports/list-file.ts'

async function* bytes(text: string | Buffer) {
  const all = Buffer.from(text)
  yield all.subarray(0, 3)
  yield all.subarray(3)
}
const list = (text: string | Buffer) => readList('list.csv', bytes(text))
const cells = async (text: string | Buffer) => {
  const { header, rows } = await list(text)
  return [header, ...rows.map((row) => [row.line, ...row.cells])]
}

test('a list is read with its byte order mark, delimiter, quotes and encoding, and lines keep their numbers', async () => {
  const same = [
    ['Firma', 'Größe'],
    [2, 'Müller, Söhne', '5'],
  ]
  assert.deepEqual(await cells('Firma,Größe\n"Müller, Söhne",5\n'), same)
  assert.deepEqual(await cells('\ufeffFirma;Größe\r\nMüller, Söhne;5\r\n'), same)
  assert.deepEqual(await cells(Buffer.from('Firma;Größe\nMüller, Söhne;5', 'latin1')), same)
  assert.deepEqual(await cells(Buffer.from('\ufeffFirma\tGröße\rMüller, Söhne\t5\r', 'utf16le')), same)
  assert.deepEqual(await cells(gzipSync('Firma;Größe\nMüller, Söhne;5')), same)
  assert.deepEqual(await cells('sep=;\nFirma;Größe\n\n;\n"Müller,\nSöhne";5\nx;6\n'), [
    ['Firma', 'Größe'],
    [5, 'Müller,\nSöhne', '5'],
    [7, 'x', '6'],
  ])
  assert.deepEqual([(await list('a;b\n1;2')).decimal, (await list('a,b\n1,2')).decimal], [',', '.'])
})

test('a list that cannot be read says what is wrong and what to do', async () => {
  const cases: readonly (readonly [text: string, message: RegExp])[] = [
    ['', /^list\.csv is empty$/],
    ['\n \n', /^list\.csv is empty$/],
    ['PK\x03\x04rest', /Excel workbook: save it as CSV/],
    ['{"a":1}', /is JSON: save the list as CSV/],
    ['a,b\n1,"2\n3,4', /^line 2 of the list has a quote that is not closed$/],
    ['a,b\n1,"2\n3"x,4', /^line 2 of the list has text after a closing quote$/],
    ['a\n'.repeat(IMPORT_LIMITS.rows + 2), /more than 20000 rows: split it/],
    ['x,'.repeat(IMPORT_LIMITS.columns), /has 201 columns, more than 200/],
    ['x'.repeat(300), /the first line must be the header/],
    [`a\n${'x'.repeat(IMPORT_LIMITS.bytes)}`, /more than 10 MiB/],
  ]
  for (const [text, message] of cases) await assert.rejects(list(text), { message }, String(message))
})

const OWN: readonly OwnColumn[] = [{ key: 'revenue', name: 'Revenue', type: 'number' }]

test('columns are recognised by the names of spreadsheets and CRMs, and others by their values', async () => {
  const targets = async (text: string, map = {}) =>
    Object.fromEntries(columnsOf(await list(text), OWN, map, {}).shown.map(({ name, target }) => [name, target]))
  assert.deepEqual(
    await targets(
      'Record ID,Company name,Company Domain Name,Company owner,Lifecycle Stage,Labels,Employees,REVENUE,Renewal,ZIP,Empty\n' +
        '1,Acme,acme.example,Ada,Customer,a,250,5,2026-11-30,01067,\n2,,b.example,,,,-,,30.11.2026,1,\n',
    ),
    {
      ...{ 'Record ID': '', 'Company name': 'name', 'Company Domain Name': 'domain', 'Company owner': 'owner' },
      ...{ 'Lifecycle Stage': 'status', Labels: 'tags', Employees: 'number', REVENUE: 'own.revenue', Renewal: 'date' },
      ...{ ZIP: 'text', Empty: '' },
    },
  )
  assert.deepEqual(
    await targets('Company,Events,Visits,Last seen,Domain,Owner,Status,Id\nAcme,1,1,2026-01-01,a.example,,,a.example'),
    {
      Company: 'name',
      Events: '',
      Visits: '',
      'Last seen': '',
      Domain: 'domain',
      Owner: 'owner',
      Status: 'status',
      Id: '',
    },
    'an own export',
  )
  assert.deepEqual(await targets('Site,Name,Web\na,b,c', { Web: 'domain', Name: '' }), {
    ...{ Site: 'text', Name: '', Web: 'domain' },
  })
  const typo = `domain,Size\n${'a.example,5\n'.repeat(9)}a.example,~5\n`
  assert.deepEqual(await targets(typo), { domain: 'domain', Size: 'number' }, 'a typing error among ten')
  assert.deepEqual(await targets(`${typo}a.example,many`), { domain: 'domain', Size: 'text' })
  const many = Array.from({ length: 30 }, (_, i) => `c${i}`)
  const guessed = Object.values(await targets(`domain,${many}\na.example,${many}`))
  assert.equal(guessed.filter((target) => target === 'text').length, 19, '20 with the one that exists')
})

test('a choice of columns that cannot be followed is refused', async () => {
  const many = Array.from({ length: 21 }, (_, i) => `c${i}`)
  const cases: readonly (readonly [text: string, map: Record<string, string>, message: RegExp])[] = [
    ['a,b\n1,2', { c: 'domain' }, /the list has no column “c”; it has a, b/],
    ['a,b\n1,2', { a: 'domain', b: 'domain' }, /the columns “a” and “b” both become domain/],
    ['a,b\n1,2', { a: 'size' }, /“a” cannot become “size”: choose one of domain, name, .*own\.revenue, or nothing/],
    ['Revenue\n1', { Revenue: 'text' }, /“Revenue” is an own column of type number already/],
    ['A b,A-b\n1,2', { 'A b': 'text', 'A-b': 'text' }, /the columns “A b” and “A-b” both become own\.a_b/],
    [`${many}\n${many}`, Object.fromEntries(many.map((name) => [name, 'text'])), /at most 20 own columns/],
    ['!\n1', { '!': 'text' }, /needs a letter or a digit/],
  ]
  for (const [text, map, message] of cases) {
    const file = await list(text)
    assert.throws(() => columnsOf(file, OWN, map, {}), { name: 'InputError', message }, String(message))
  }
})
