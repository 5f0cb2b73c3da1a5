import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'csv-parse/sync'
import { businessName } from '../../../src/enrichment/rules/business-name.ts'
import { nameKey } from '../../../src/enrichment/rules/company-id.ts'
import { parseSections } from '../../../src/enrichment/rules/sections.ts'

interface Labelled {
  readonly name: string
  readonly readable: string
  readonly isHeldOut: boolean
}

/** A random sample of AS names without those of private persons, labelled by hand before the function was written. */
const labelled = (
  parse(readFileSync(new URL('../../support/labelled-names.csv', import.meta.url)), { columns: true }) as Record<
    string,
    string
  >[]
).flatMap(({ name, readable_name, private_person, held_out }): Labelled[] =>
  private_person === 'yes' ? [] : [{ name: name!, readable: readable_name!, isHeldOut: held_out === 'yes' }],
)

for (const isHeldOut of [false, true]) {
  test(`names are written as people write them, ${isHeldOut ? 'held-out' : 'tuning'} part`, (t) => {
    const rows = labelled.filter((row) => row.isHeldOut === isHeldOut)
    const same = rows.filter(({ name, readable }) => businessName(name) === readable).length
    const butForCase = rows.filter((row) => lower(businessName(row.name)) === lower(row.readable)).length
    t.diagnostic(`${rows.length} names: ${same} as labelled, ${butForCase} but for capitals`)
    assert.ok(rows.length >= 230)
    assert.ok(same / rows.length >= 0.84)
    assert.ok(butForCase / rows.length >= 0.9)
  })
}

test('a name stays the same when it is made readable again', () => {
  const changed = [...labelled.map(({ name }) => name), ...starterNames()]
    .map(businessName)
    .filter((name) => businessName(name) !== name)
  assert.deepEqual(changed, [])
})

for (const [registered, readable] of [
  ['SAP SE', 'SAP'],
  ['SAP_PCI_PEERING SAP SE', 'SAP'],
  ['COMCAST-7922 - Comcast Cable Communications, LLC', 'Comcast Cable Communications'],
  ['BANCO DE LA REPUBLICA S.A.', 'Banco de la Republica'],
  ['PT. BANK MANDIRI (PERSERO), TBK', 'Bank Mandiri'],
  ['OOO "Romashka"', 'Romashka'],
  ['ООО «Ромашка»', 'Ромашка'],
  ['Public Joint Stock Company "Ukrtatnafta"', 'Ukrtatnafta'],
  ['株式会社インターネット', 'インターネット'],
  ['Spolka Handlowa Kibo sp. z o.o. sp. k.', 'Spolka Handlowa Kibo'],
  ['Acme Anvils GmbH & Co. KG', 'Acme Anvils'],
  ['Acme Anvils (Pty) Ltd', 'Acme Anvils'],
  ['Acme Anvils Ltda - ME', 'Acme Anvils'],
  ['Acme Anvils S.A. de C.V.', 'Acme Anvils'],
  ['Acme Anvils Limited Liability Compan', 'Acme Anvils'],
  ['ANVILS - FZCO', 'Anvils'],
  ['ANVILS-10 (BD) LIMITED', 'Anvils-10 (BD)'],
  ['1-800 Anvils, Inc.', '1-800 Anvils'],
  ['9471-6685 Quebec Inc.', '9471-6685 Quebec'],
  ['Acme Anvils, Inc. (formerly Quux Hammers)', 'Acme Anvils'],
  ['Acme Anvils Ltd, 12 High Street', 'Acme Anvils'],
  ['Acme Anvils Ltda CNPJ 12.345.678/0001-00', 'Acme Anvils'],
  ['Quux Holdings Inc. d/b/a Acme Anvils', 'Acme Anvils'],
  ['and D Tactical (Pty) Ltd - D and D Tactical (Pty) Ltd', 'D and D Tactical'],
  ['United States Department of Defense (DoD)', 'United States Department of Defense'],
  ['The Boeing Company', 'Boeing'],
  ['The University of Oslo', 'The University of Oslo'],
  ['Executive Office Of The President', 'Executive Office of the President'],
  ['MCMASTER UNIVERSITY', 'McMaster University'],
  ["O'REILLY MEDIA, INC.", "O'Reilly Media"],
  ['IBM CORPORATION', 'IBM'],
  ['BNP PARIBAS', 'BNP Paribas'],
  ['AT&T CORP.', 'AT&T'],
  ['E.ON SE', 'E.ON'],
  ["L'ORÉAL S.A.", "L'Oréal"],
  ["INSTITUT D'ÉTUDES POLITIQUES", "Institut d'Études Politiques"],
  ['H-E-B, LP', 'H-E-B'],
  ['ST. JUDE HOSPITAL', 'St. Jude Hospital'],
  ['İSTANBUL ÜNİVERSİTESİ', 'İstanbul Üniversitesi'],
  ['HOLIDAY INN 24', 'Holiday Inn 24'],
  ['SC JOHNSON', 'SC Johnson'],
  ['AO Smith Corporation', 'AO Smith'],
  ['AO "Kibo"', 'Kibo'],
  ['AO Кибо', 'Кибо'],
  ['DP World', 'DP World'],
  ['AS Roma', 'AS Roma'],
  ['ET Solutions', 'ET Solutions'],
  ['The Coop', 'The Coop'],
  ['Wellness Spa', 'Wellness Spa'],
  ['Acme SpA', 'Acme'],
  ['City of Charleston SC', 'City of Charleston SC'],
  ['Axa - Taxation Office', 'Axa - Taxation Office'],
  ['BOSCH (CHINA) INVESTMENT LTD', 'Bosch (China) Investment'],
  ['GMBH', 'GMBH'],
  ['AS64500', 'AS64500'],
  ['—', '—'],
] as const) {
  test(`${registered} is written as ${readable}`, () => assert.equal(businessName(registered), readable))
}

test('names that differ by legal form, case, accents or punctuation have one key', () => {
  const keys = (names: readonly string[]) => [...new Set(names.map(nameKey))]
  assert.deepEqual(keys(['SAP SE', 'SAP AG', 'Sap', 'sap, inc.']), ['sap'])
  assert.deepEqual(keys(['Société Générale S.A.', 'SOCIETE GENERALE', 'Societe-Generale SA']), ['societe-generale'])
  assert.deepEqual(keys(['The Reynolds and Reynolds Company', 'Reynolds and Reynolds, Inc']), ['reynolds-and-reynolds'])
  assert.deepEqual(keys(['Ørsted A/S', 'ORSTED']), ['orsted'])
  assert.deepEqual(keys(['Bosch (China) Investment Ltd', 'BOSCH (CHINA) INVESTMENT LTD']), ['bosch-china-investment'])
  assert.deepEqual(keys(['PT Acme Indonesia Tbk', 'PT. ACME INDONESIA']), ['acme-indonesia'])
})

test('a name has one key in any case', () => {
  // Only a handle is known by its capitals.
  const different = [...labelled.map(({ name }) => name), ...starterNames()].filter(
    (name) => nameKey(name) !== nameKey(name.toUpperCase()) && !/[ßıİŉ]|\bspa\b|^\S*[-_]\S* | - /i.test(name),
  )
  assert.deepEqual(different, [])
})

test('no name takes long, whatever it holds', () => {
  const hard = ['('.repeat(5_000), 'a, '.repeat(5_000), ' inc'.repeat(5_000), '1-'.repeat(5_000), 'A.'.repeat(5_000)]
  for (const name of hard) assert.ok(businessName(name).length <= 256)
})

function starterNames(): string[] {
  const table = new URL('../../../src/enrichment/files/starter/organisations.csv', import.meta.url)
  const rows = parse(readFileSync(table), { columns: true }) as Record<string, string>[]
  return rows.flatMap(({ business_name, org_name }) => [business_name!, org_name!])
}

test('no entry of the tables is repeated', () => {
  const text = readFileSync(new URL('../../../src/enrichment/rules/data/business-names.txt', import.meta.url), 'utf8')
  const entries = parseSections(text, 'business-names.txt').flatMap(({ heading, entries }) =>
    entries.map((entry) => `${heading.join(' ')}: ${entry}`),
  )
  assert.deepEqual(
    entries.filter((entry, i) => entries.indexOf(entry) !== i),
    [],
  )
})

function lower(name: string): string {
  return name.toLowerCase()
}
