import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { parse } from 'csv-parse/sync'
import ipaddr from 'ipaddr.js'
import { type Classification, NOISE } from '../../../schemas/classification.ts'
import { TABLE_COLUMNS } from '../../../src/enrichment/providers/tables/organisation-row.ts'
import { domainIn } from '../../../src/enrichment/rules/domain.ts'

const CLASSES = new Set(['business', 'education', 'government', 'isp', 'hosting', 'cloud', 'cdn', 'vpn', 'bot'])
const COLUMNS = new Set<string>(TABLE_COLUMNS)
/** The address in the command that a first start prints. */
const EXAMPLE = '17.253.144.10'

const folder = new URL('../../../src/enrichment/files/starter/', import.meta.url)
const rows = parse(readFileSync(new URL('organisations.csv', folder), 'utf8'), { columns: true }) as Record<
  string,
  string
>[]
const blocks = rows.filter(({ network }) => !network!.startsWith('AS'))

describe('the starter table', () => {
  test('has the columns of an organisation table, and every row is complete', () => {
    assert.ok(organisationsIn(rows) >= 3_000)
    for (const column of Object.keys(rows[0]!)) assert.ok(COLUMNS.has(column), column)
    for (const row of rows) {
      const label = JSON.stringify(row)
      assert.ok(row.business_name && row.org_name, label)
      if (row.domain !== '') assert.equal(domainIn(row.domain!), row.domain, label)
      // A block of a company may be used in any country.
      if (row.network!.startsWith('AS')) assert.match(row.country_code!, /^[A-Z]{2}$/, label)
      assert.match(row.asn!, /^[1-9]\d*$/, label)
      assert.ok(CLASSES.has(row.classification!), label)
    }
  })

  test('networks are canonical and public, and none appears twice', () => {
    const seen = new Set<string>()
    for (const { network, asn } of rows) {
      assert.ok(!seen.has(network!), `${network} appears twice`)
      seen.add(network!)
      if (network!.startsWith('AS')) {
        assert.equal(network, `AS${asn}`)
        continue
      }
      const [address, bits] = ipaddr.parseCIDR(network!)
      const first = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
      assert.equal(`${first.networkAddressFromCIDR(network!)}/${bits}`, network)
      assert.equal(address.range(), 'unicast', network)
    }
  })

  test('one organisation has one name, one industry and one classification', () => {
    const known = new Map<string, string>()
    const countries = new Map(rows.flatMap((row) => (row.country_code === '' ? [] : [[row.domain!, row.country_code]])))
    for (const row of rows) {
      const { business_name: name, domain, industry, industry_category, classification, country_code } = row
      // Clouds share their domain with the company that runs them.
      if (domain === '' || NOISE.has(classification as Classification)) continue
      const facts = JSON.stringify([
        name,
        industry,
        industry_category,
        classification,
        country_code || countries.get(domain!),
      ])
      assert.equal(known.get(domain!) ?? facts, facts, domain)
      known.set(domain!, facts)
    }
  })

  test('industries are those of the README', () => {
    const listed = readVocabulary()
    for (const { industry, industry_category: category } of rows) {
      if (industry !== '' || category !== '')
        assert.ok(listed.get(category!)?.has(industry!), `${category}: ${industry}`)
    }
  })

  test('the example address belongs to a business', () => {
    assert.equal(mostSpecific(EXAMPLE)?.business_name, 'Apple')
    assert.equal(mostSpecific(EXAMPLE)?.classification, 'business')
  })
})

function organisationsIn(table: readonly Record<string, string>[]): number {
  return new Set(table.map(({ domain, business_name: name }) => domain || name)).size
}

function readVocabulary(): Map<string, Set<string>> {
  const text = readFileSync(new URL('README.md', folder), 'utf8')
  const lines = [...text.matchAll(/^\| (?!industry_category|-)([^|]+) \| ([^|]+) \|$/gm)]
  return new Map(lines.map(([, category, industries]) => [category!.trim(), new Set(industries!.trim().split(', '))]))
}

function mostSpecific(text: string): Record<string, string> | undefined {
  const address = ipaddr.parse(text)
  const holding = blocks
    .map((row) => ({ row, cidr: ipaddr.parseCIDR(row.network!) }))
    .filter(({ cidr }) => cidr[0].kind() === address.kind() && address.match(cidr))
  return holding.sort((a, b) => b.cidr[1] - a.cidr[1])[0]?.row
}
