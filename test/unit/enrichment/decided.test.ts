import assert from 'node:assert/strict'
import { test } from 'node:test'
import { merge } from '../../../src/enrichment/answers/merge.ts'
import { asRangeFile } from '../../../src/enrichment/files/build/as-ranges.ts'
import { withDecisions } from '../../../src/enrichment/files/build/decide-ranges.ts'
import { encodeRangeFile, openRangeFile } from '../../../src/enrichment/providers/ranges/range-file.ts'
import { assertDecisionsEqual, loadRanges, snapshotOf } from '../../support/decided.ts'
import { address } from '../../support/enrichment-data.ts'

const AT = address('192.0.2.1')
const TELECOM = asRangeFile([Buffer.from('192.0.2.0,192.0.2.255,64500,Example Telecom\n')], 0, 'test 1').then(
  withDecisions,
)

test('a decision that was made with the data equals the one made for an address, field by field', async () => {
  // All AS are in test/extended.
  await assertDecisionsEqual(90)
})

test('decisions of other rules are not used, and are made again', async () => {
  const bytes = await TELECOM
  const { head, index, decode } = openRangeFile(bytes)
  const records = [{ ...decode(0), class: 'business', rule: 'name' }]
  const stale = encodeRangeFile({ head: { ...head, rules: 'other' }, index, records })
  const old = await loadRanges(stale)
  assert.equal(old.find(AT)!.decided, undefined)
  assert.equal(snapshotOf(old).resolve(AT).classification, 'isp')
  assert.deepEqual(await withDecisions(stale), bytes)
})

test('a record beside that of the AS is judged with it', async () => {
  const provider = await loadRanges(await TELECOM)
  const facts = provider.find(AT)!
  assert.equal(facts.decided?.decision.classification, 'isp')
  const other = { ...provider, name: 'b', kind: 'connection' } as const
  const beside = (evidence: object) =>
    merge([
      { provider, facts, scope: 'address' },
      {
        provider: other,
        facts: { id: 0, data: {}, evidence, organisation: undefined, scope: 'address' },
        scope: 'address',
      },
    ]).decision
  assert.equal(beside({ isTor: true }).rule, 'flag:tor')
  assert.equal(beside({ orgName: 'Example Veterinary Clinic' }).classification, 'business')
  assert.equal(beside({}), facts.decided?.decision)
})

test('a lookup and an event share the merged records', async () => {
  const provider = await loadRanges(await TELECOM)
  const snapshot = snapshotOf({ ...provider, find: (at) => provider.find(at), networkOf: () => undefined })
  assert.equal(snapshot.lookup(AT, {}).data, snapshot.resolve(address('192.0.2.2')).data)
})
