import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'csv-parse/sync'
import { isBareHandle, isPostalAddress } from '../../../src/enrichment/rules/handle.ts'
import { isPersonName, personNames } from '../../../src/enrichment/rules/person.ts'
import { check } from '../../support/classified.ts'

test('names of people are found in the order, case and alphabet that registries write', () => {
  for (const name of [
    'Jan Kowalski',
    'KOWALSKI JAN',
    'Tanaka Hiroshi',
    'Fernanda Cristina Ruiz Matiazzo',
    'Betania da Silva',
    'Petrov Ivan Sergeevich',
    // Given names that are words elsewhere, and a surname that ends like a network.
    'Kibov Alexandr Borisovich',
    'Zemlyaniy Dmitro Leonidovich',
    'Kirunets Tatyana Ivanovna',
    'Иван Петров',
    'Jingqiu Xu',
    'Wei Zhang',
    'Dr. Josef Koehr',
    'Leo Georges Nonnenmacher',
    'Antonios A. Chariton',
    'YIKAI-ZHAO',
    'NetRealm-AS Ehsan Imani Kalkhoran',
    'Ivo-Novak Ivo Novak',
    'novak Ivo Novak',
    'AS64500 - PEREZ JUAN JOSE',
  ])
    assert.ok(isPersonName(name), name)
})

test('the marks of sole traders are no part of their names', () => {
  for (const name of [
    'FOP Petrenko Pavlo Mykolayovych',
    'PE Lysenko Maxim',
    'Filonenko Andrey PE',
    'Individual Entrepreneur Tetiana Markova',
    'CLAUDIO ALMEIDA - ME',
    'Antonio Marcos dos Santos-ME',
    'ALEKSEI FEDOROV PR KRUSEVAC',
    'Ionescu Mihai I.I.',
    'ФОП Петренко Павло',
    'PP Kibov Nikolay Vasilievich',
    'SE: Kibovskaya Vera Vladimirovna',
    'Weston Kibo, Sole Proprietorship',
    'Hazel Kibo Sole Proprietor',
    'Individual Proprietor Boris L. Grigoryan',
  ])
    assert.ok(isPersonName(name), name)
  for (const name of ['Kibo Telecom, Sole Proprietorship', 'Kibo, Sole Proprietorship', 'SE Bordnetze Kibo'])
    assert.equal(isPersonName(name), false, name)
})

test('an address, a number, a remark or a second person next to a name is no part of it', () => {
  for (const name of [
    'Jan Kowalski, 12 High Street',
    'Hans Müller, Bahnhofstr. 5',
    'Anna Maria Novak, Hauptstr. 12, 10115 Berlin',
    'MARIA DA SILVA CPF 012.345.678-90',
    'CLAUDIO ALMEIDA 12345678901',
    '12.345.678 JOAO DA SILVA',
    'Jan Kowalski NIP 1234567890',
    'Jan Kowalski tel. +48 600 000 000',
    'Jan Kowalski (home)',
    'Jan Kowalski (formerly Acme)',
    'Jan Kowalski (KOWAL)',
    'John Smith - home office',
    'John Smith 2',
    'Jan Kowalski & Anna Kowalska',
    'Jan & Anna Kowalski',
    'Familie Müller',
    'Ivanov I.I.',
    'IP Ivanov I.I.',
    'Иванов И.И.',
    'jan.kowalski@example.com',
    'Jan Kowalski jan@example.com',
  ])
    assert.ok(isPersonName(name), name)
  for (const name of [
    'Jan Kowalski Inc., 12 High Street',
    'Jan Kowalski, Sp. z o.o., 12 High Street',
    'Jan Kowalski GmbH (formerly Acme)',
    'Jan Kowalski (trading as Kowal)',
    'Jan Kowalski (Kowal Telecom)',
    'Edward Jones, 12 High Street',
    'Allen & Overy',
    'Johnson & Johnson',
    'Arnold & Porter Kaye Scholer',
    'The Smith Family',
    // People and companies are written in the same way.
    'J. Smith',
    'J.B. Hunt',
    'Ferrari S.P.A.',
    '116 MADHAV DARSHAN',
  ])
    assert.equal(isPersonName(name), false, name)
})

test('companies, places and institutions that are named like people are none', () => {
  for (const name of [
    'Frank Russell',
    'Morgan Stanley',
    'Ernst & Young',
    'Kirkland Ellis',
    'Louis Vuitton',
    'Edward Jones',
    'Raymond James Financial',
    'Max Planck Institute',
    'Ruhr Universitaet',
    'San Diego',
    'Santa Clara',
    'Los Angeles',
    'Ping An',
    'Ville de Gatineau',
    'Sharon AI',
    'Jan Kowalski Sp. z o.o.',
    'Marco Bungalski GmbH',
    'MATHEUS GUIMARAES DE JESUS EIRELI',
    'Jan Kowalski trading as KowalNet',
    'KowalNet Jan Kowalski',
    'Rahul Enterprise',
    'Suraj Network',
    'Magen David Adom',
    'Casey Family Programs',
    'Jan',
    'Tri-CoGo',
    'Level 3 Parent',
    'Axel Springer',
    'ALFRED KARCHER',
    'Con Edison',
    'Freddie Mac',
    'Reed Smith',
    'TU Graz',
    "DICK'S Sporting Goods",
    'Hubert Burda Media',
    'Livingston ESA',
    'Tim Hortons',
    'Samuel Adams',
    'Sara Lee',
    'Harvey Norman',
    'Ernst Klett',
    'Hans Grohe',
    'Wilson Sonsini',
  ])
    assert.equal(isPersonName(name), false, name)
})

test('no organisation of the starter table or of the labelled samples is a person', () => {
  const found = [
    ['src/enrichment/files/starter/organisations.csv', 'business_name', 'org_name'],
    ['test/support/labelled-organisations.csv', 'as_name'],
  ].flatMap(([file, ...columns]) => {
    const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
    const rows = parse(text, { columns: true }) as Record<string, string>[]
    const names = new Set(rows.flatMap((row) => columns.map((column) => row[column]!)))
    return [...names].flatMap((name) => [name, name.toUpperCase()]).filter(isPersonName)
  })
  assert.deepEqual(found, [])
})

test('the labelled names of private persons are found, and no other', () => {
  const text = readFileSync(new URL('../../support/labelled-names.csv', import.meta.url), 'utf8')
  const rows = parse(text, { columns: true }) as { name: string; private_person: string }[]
  const wrong = rows.filter(({ name, private_person }) => isPersonName(name) !== (private_person === 'yes'))
  assert.deepEqual(wrong, [])
})

test('the table holds names of many languages, each once', () => {
  const { given, ambiguous } = personNames()
  assert.ok(given.size >= 2500)
  for (const name of ambiguous) assert.ok(!given.has(name), name)
})

test('a private person has no class, unless stronger evidence gives the purpose of the network', () => {
  const asName = 'Jan Kowalski'
  check([
    [{ asn: 64_500, asName, asAddresses: 256 }, undefined, 'person'],
    [{ asn: 64_500, asName: 'FOP Petrenko Pavlo Mykolayovych' }, undefined, 'person'],
    [{ asn: 64_500, asName: 'Example Telecom', orgName: asName }, undefined, 'person'],
    [{ asn: 64_500, asName, asType: 'hosting' }, 'hosting'],
    [{ asn: 64_500, asName, organisationNames: [asName] }, undefined, /^unknown/],
    [{ asn: 64_500, asName, asAddresses: 2 ** 14, asHasV6: false }, undefined, /^unknown/],
    [{ asn: 64_500, asName: 'Petrov Ivan Sergeevich', asAddresses: 2 ** 15 }, undefined, 'person'],
    [{ asn: 64_500, asName: 'FOP Petrenko Pavlo', asAddresses: 2 ** 15 }, undefined, 'person'],
  ])
})

test('a handle that names no one is bare', () => {
  for (const name of ['AS64500', 'AS-64500', 'IP4-NETWORKS', '47-2339071']) assert.ok(isBareHandle(name), name)
  for (const name of ['Irinn AS-Block', 'VNNIC-4byte-ASBLOCK-AP', 'CNNIC ASN block'])
    assert.ok(isBareHandle(name), name)
  for (const name of ['9471-6685 Quebec', '2267921 ONTARIO LTD', '1544913 B.C.', '3268120 Nova Scotia Company'])
    assert.ok(isBareHandle(name), name)
  for (const name of ['Block Agenda', '31173 Services', '1-800 Contacts', 'H&R Block', 'Hydro Quebec'])
    assert.equal(isBareHandle(name), false, name)
  for (const name of ['sap-se', 'ACME-AS', '1&1', 'Block', '3M', 'AS64500 - Acme']) assert.ok(!isBareHandle(name), name)
})

test('a name that is only a postal address names no one', () => {
  for (const name of [
    'No.11 Kibo Road,Beijing',
    'Jia No.8, North Kibo Road',
    '3rd Floor, Kibo Building, No.A2',
    '4F, No.1, Kibo Rd',
  ]) {
    assert.ok(isPostalAddress(name), name)
  }
  for (const name of [
    'Kibo School District No. 4',
    'Kibo Building No.16 Alfa Road',
    'No. 1 Street Fashion Ltd',
    '4Front',
  ]) {
    assert.ok(!isPostalAddress(name), name)
  }
})
