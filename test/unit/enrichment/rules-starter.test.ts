import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { parse } from 'csv-parse/sync'
import ipaddr from 'ipaddr.js'
import { type Classification, NOISE } from '../../../schemas/classification.ts'
import { TABLE_COLUMNS } from '../../../src/enrichment/providers/tables/organisation-row.ts'
import { domainIn, registrableDomain } from '../../../src/enrichment/rules/domain.ts'

const CLASSES = new Set(['business', 'education', 'government', 'isp', 'hosting', 'cloud', 'cdn', 'vpn', 'bot'])
const COLUMNS = new Set<string>(TABLE_COLUMNS)
/** The address in the command that a first start prints. */
const EXAMPLE = '17.253.144.10'

/** Networks of well-known organisations in 40 countries. */
const WELL_KNOWN: Readonly<Record<string, string>> = {
  AS56440: 'adidas-group.com',
  AS201026: 'zalando.com',
  AS21272: 'danone.com',
  AS48702: 'engie.com',
  AS62928: 'lvmh.com',
  AS3902: 'gsk.com',
  AS13626: 'walgreens.com',
  AS54781: 'sysco.com',
  AS15048: 'metlife.com',
  AS30118: 'mizuhogroup.com',
  AS211483: 'continental.com',
  AS42879: 'hannover-re.com',
  AS205992: 'hermes.com',
  AS15422: 'kering.com',
  AS206342: 'airliquide.com',
  AS47314: 'vinci.com',
  AS209397: 'dassault-aviation.com',
  AS41751: 'ocado.com',
  AS204247: 'asda.com',
  AS28939: 'arm.com',
  AS60593: 'networkrail.co.uk',
  AS199408: 'bol.com',
  AS207699: 'coolblue.nl',
  AS25275: 'richemont.com',
  AS48849: 'sika.com',
  AS51817: 'lonza.com',
  AS30739: 'lenzing.com',
  AS35461: 'acciona.com',
  AS201976: 'mercadona.es',
  AS42650: 'pirelli.com',
  AS16122: 'pradagroup.com',
  AS28680: 'ikea.com',
  AS203949: 'husqvarnagroup.com',
  AS204920: 'vestas.com',
  AS12834: 'danfoss.com',
  AS202892: 'bestseller.com',
  AS1780: 'valmet.com',
  AS21010: 'kghm.com',
  AS21344: 'pkobp.pl',
  AS201523: 'edp.com',
  AS43643: 'flytap.com',
  AS16282: 'aib.ie',
  AS9776: 'kbstar.com',
  AS10170: 'bok.or.kr',
  AS9590: 'hkex.com.hk',
  AS132265: 'singaporeair.com',
  AS56289: 'dbs.com',
  AS55563: 'drreddys.com',
  AS9547: 'westpac.com.au',
  AS137522: 'originenergy.com.au',
  AS62679: 'shopify.com',
  AS12196: 'etsy.com',
  AS266561: 'natura.com.br',
  AS16762: 'grupobimbo.com',
  AS328511: 'shopriteholdings.co.za',
  AS198114: 'leumi.co.il',
  AS202982: 'alrajhibank.com.sa',
  AS200284: 'bankfab.com',
  AS23954: 'bankmandiri.co.id',
  AS29434: 'denizbank.com',
  AS20708: 'skoda-auto.com',
  AS34184: 'bancatransilvania.ro',
  AS15505: 'kau.edu.sa',
  AS38331: 'its.ac.id',
  AS132780: 'iitd.ac.in',
  AS60333: 'manchester.ac.uk',
  AS47575: 'tsu.ge',
  AS35677: 'bundesbank.de',
  AS20905: 'bde.es',
  AS37452: 'cbn.gov.ng',
  AS37206: 'bou.or.ug',
  AS23458: 'denverhealth.org',
  AS2154: 'hp.com',
  AS4867: 'cboe.com',
  AS36488: 'southwest.com',
  AS18784: 'mcdonalds.com',
  AS71: 'hp.com',
  AS8137: 'thewaltdisneycompany.com',
  AS25932: 'thewaltdisneycompany.com',
  AS7973: 'mayoclinic.org',
  AS42165: 'ec.europa.eu',
  AS42848: 'ec.europa.eu',
}

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

  test('well-known organisations have their domain', () => {
    const systems = new Map(rows.filter(({ network }) => network!.startsWith('AS')).map((row) => [row.network, row]))
    const found = Object.keys(WELL_KNOWN).map((network) => [network, systems.get(network)?.domain])
    assert.deepEqual(Object.fromEntries(found), WELL_KNOWN)
  })

  test('an organisation is one company: one domain for its name, one name for its domain', () => {
    const domains = new Map<string, Set<string>>()
    const names = new Map<string, Set<string>>()
    const add = (map: Map<string, Set<string>>, key: string, value: string) =>
      map.set(key, (map.get(key) ?? new Set()).add(value))
    for (const { business_name: name, org_name, domain, classification, country_code } of rows) {
      if (NOISE.has(classification as Classification)) continue
      for (const text of [name!, org_name!]) {
        if (country_code !== '' && domain !== '') add(domains, `${country_code} ${text.toLowerCase()}`, domain!)
      }
      if (domain !== '') add(names, registrableDomain(domain!) ?? domain!, name!)
    }
    const severalIn = (map: Map<string, Set<string>>) =>
      [...map].filter(([, values]) => values.size > 1).map(([key, values]) => `${key}: ${[...values].join(', ')}`)
    assert.deepEqual(severalIn(domains), [])
    assert.deepEqual(severalIn(names), [])
  })

  test('cells are trimmed text of one line', () => {
    for (const row of rows) {
      for (const cell of Object.values(row)) assert.equal(cell, cell.replace(/\s+/g, ' ').trim(), JSON.stringify(row))
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
