import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAddress } from '../../../src/core/event/address.ts'
import { compileAsRanges } from '../../../src/enrichment/files/build/as-ranges.ts'
import { loadMmdb } from '../../../src/enrichment/providers/mmdb/provider.ts'

const RANGES = `192.0.2.0,192.0.2.127,64500,Example Net
198.51.100.0,198.51.100.255,64500,Example Net
203.0.113.0,203.0.113.0,64501,Other
2001:db8::,2001:db8::ffff,64501,Other
`

test('ranges of autonomous systems are told with the size of each', async () => {
  const bytes = await compileAsRanges([Buffer.from(RANGES)], 0, 'test')
  const provider = await loadMmdb({ name: 'as', bytes, mapping: undefined, recordsMax: 10 })
  const evidence = (ip: string) => provider.find(parseAddress(ip)!)!.evidence
  const { asn, asName, asAddresses, asHasV6 } = evidence('192.0.2.1')
  assert.deepEqual([asn, asName, asAddresses, asHasV6], [64_500, 'Example Net', 384, false])
  for (const ip of ['203.0.113.0', '2001:db8::1']) {
    assert.deepEqual([evidence(ip).asAddresses, evidence(ip).asHasV6], [1, true])
  }
})
