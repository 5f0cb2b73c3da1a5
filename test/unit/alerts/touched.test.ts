import assert from 'node:assert/strict'
import { test } from 'node:test'
import { packBlock } from '../../../src/pipeline/event/block.ts'
import { tsv, tsvTime } from '../../../src/pipeline/event/row.ts'
import { touchedIn } from '../../../src/pipeline/sinks/touched/touched-companies.ts'
import { envelope } from '../../support/pipeline.ts'

const NOW = Date.UTC(2026, 10, 27)

test('touched companies are those of fresh events, by tenant', () => {
  const event = (tenant: string, company: string, ms: number) =>
    envelope(tenant, 'e', { company_id: tsv(company), timestamp: tsvTime(ms), properties: tsv('{"a":"x\ty\n"}') })
  const blocks = [
    packBlock([event('acme', 'a.example', NOW), event('acme', 'a.example', NOW + 1), event('acme', '', NOW)]),
    packBlock([
      event('acme', 'größe\tco', NOW),
      event('acme', 'old.example', NOW - 1),
      event('acme', 'older.example', Date.UTC(1950, 1, 1)),
      event('other', 'a.example', NOW),
      event('past', 'a.example', NOW - 1),
    ]),
  ]
  const touched = touchedIn(blocks, NOW)
  assert.deepEqual(
    [...touched].map(([tenant, companies]) => [tenant, [...companies]]),
    [
      ['acme', ['a.example', 'größe\tco']],
      ['other', ['a.example']],
    ],
  )
})
