import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pino } from 'pino'
import { temporaryFolder } from '../support/enrichment-data.ts'
import { eventRows } from '../support/event-rows.ts'
import { ndjsonFolder } from './ndjson-destination.ts'

test('rows that come again under a new token, with others, are told apart by their event', async (t) => {
  const folder = await temporaryFolder(t)
  const inserter = ndjsonFolder.open({
    settings: { folder },
    share: { number: 0, of: 1 },
    clickhouseUrl: '',
    clickhouseCluster: undefined,
    archive: { folder: '' },
    log: pino({ level: 'silent' }),
  })
  const row = (id: string) => eventRows([{ tenant_id: 'acme', event_id: id, received_at: 1_700_000_000_000 }])
  const [a, b, c] = [row('a'), row('b'), row('c')]
  await inserter.prepare()
  writeFileSync(join(folder, 'organisations.csv'), 'network,business_name')
  await inserter.insert([Buffer.concat([a, b])], 'first')
  await inserter.insert([Buffer.concat([a, b])], 'first')
  assert.equal(inserter.receivedAt!(Buffer.concat([a, b])), 1_700_000_000_000)
  assert.deepEqual(await inserter.absent([a, b, c]), [c])
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.ndjson')),
    ['first.ndjson'],
  )
  await inserter.close()
})
