import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Facts } from '../../../src/enrichment/facts.ts'
import { packStarter, STARTER_TABLE } from '../../../src/enrichment/files/defaults/packed-starter.ts'
import { STARTER_DIR } from '../../../src/enrichment/files/folder.ts'
import { openTable, tableOf } from '../../../src/enrichment/providers/tables/packed-table.ts'
import { loadTable, tableRows } from '../../../src/enrichment/providers/tables/provider.ts'
import { nameKey } from '../../../src/enrichment/rules/company-id.ts'
import { registrableDomain } from '../../../src/enrichment/rules/domain.ts'
import { formatV4, formatV6 } from '../../../src/pipeline/event/address.ts'
import { address } from '../../support/enrichment-data.ts'

const TEXT = readFileSync(join(STARTER_DIR, STARTER_TABLE))
const ROWS_MAX = 50_000

const withoutId = (facts: Facts | undefined) => facts && { ...facts, id: 0 }

test('the packed form of the starter table answers like its text', async () => {
  const read = await loadTable({ name: 'organisations', format: 'csv', text: TEXT, rowsMax: ROWS_MAX })
  const { source, table } = openTable(await packStarter(TEXT, 'test 1'))
  const packed = tableOf('organisations', table)
  assert.equal(source, 'test 1')
  assert.deepEqual(
    [packed.name, packed.kind, packed.recognisedAs, packed.records, packed.warnings],
    [read.name, read.kind, read.recognisedAs, read.records, read.warnings],
  )
  let named = 0
  for await (const { network, attributes } of tableRows({ format: 'csv', text: TEXT, rowsMax: ROWS_MAX }, new Set())) {
    if (network.version === 'as') {
      const facts = withoutId(packed.findAs!(network.asn))
      assert.ok(facts)
      assert.deepEqual(facts, withoutId(read.findAs!(network.asn)))
    } else {
      const ip = address(network.version === 4 ? formatV4(network.first) : formatV6(groupsOf(network.first)))
      assert.ok(packed.networkOf(ip))
      assert.equal(packed.networkOf(ip), read.networkOf(ip))
      assert.deepEqual(withoutId(packed.find(ip)), withoutId(read.find(ip)))
    }
    const name = String(attributes.org_name ?? attributes.business_name)
    for (const [organisation, country] of [
      [{ name: undefined, domain: registrableDomain(String(attributes.domain)) }, undefined],
      [{ name, domain: undefined }, attributes.country_code],
      [{ name: `${name} GmbH`, domain: undefined }, 'AQ'],
    ] as const) {
      const facts = withoutId(packed.findOrganisation!(organisation, country as string | undefined))
      if (facts !== undefined) named++
      assert.deepEqual(facts, withoutId(read.findOrganisation!(organisation, country as string | undefined)))
    }
  }
  assert.ok(named > 10_000, `${named} names and domains are found`)
  assert.equal(packed.findAs!(4_294_967_295), undefined)
  assert.equal(packed.find(address('192.0.2.1')), undefined)
})

function groupsOf(value: bigint): number[] {
  return Array.from({ length: 8 }, (_, i) => Number((value >> BigInt(16 * (7 - i))) & 0xffffn))
}

test('keys of names are those for which PACKER_VERSION was set', () => {
  const names = readFileSync(new URL('../../support/labelled-names.csv', import.meta.url), 'utf8')
    .split('\n')
    .map((line) => line.replace(/^\d+,/, ''))
  const digest = createHash('sha256').update(names.map(nameKey).join('\n')).digest('hex')
  assert.equal(
    digest.slice(0, 16),
    '67282099c8be5533',
    'unless only data files changed, increase PACKER_VERSION, so that installed tables get new keys; then change this digest',
  )
})
