import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchLine, namesAddress, selectorOf } from '../../../src/operations/erasure/selector.ts'

const LINE = { _received_at: '2026-11-22T00:00:00.000Z', _event_id: 'a' }

test('an address is found in every spelling, and no other one is', () => {
  const v6 = selectorOf({ ip: '2620:149:AF0:0::10' }).value
  for (const text of [v6, '2620:0149:0af0::0010', '[2620:149:af0::10]:443', ' 2620:149:af0::10 '])
    assert.ok(namesAddress(text, v6), text)
  assert.ok(!namesAddress('2620:149:af0::11', v6))
  const v4 = selectorOf({ ip: '::ffff:17.0.0.1' }).value
  assert.equal(v4, '17.0.0.1')
  for (const text of ['17.0.0.1', '::FFFF:17.0.0.1', '::ffff:1100:1', '17.0.0.1:80', '[{"ip":"17.0.0.1"},']) {
    assert.ok(namesAddress(text, v4), text)
  }
  for (const text of ['17.0.0.11', '117.0.0.1', '17.0.0.1.5', '']) assert.ok(!namesAddress(text, v4), text)
})

test('a source is named by its id', () => {
  for (const source of ['src_0404ea9575a7daae26c9d6865f2a30a52ad05b46', 'shop', '']) {
    assert.throws(() => selectorOf({ source }), /--source/)
  }
})

test('a line of the archive matches by address, id, source, or its own account', () => {
  const ip = selectorOf({ ip: '17.0.0.1' })
  assert.equal(matchLine(ip, { ...LINE, ip: '::ffff:17.0.0.1' }), 'yes')
  assert.equal(matchLine(ip, { ...LINE, ip: '17.0.0.2' }), 'no')
  assert.equal(matchLine(selectorOf({ event: 'a' }), LINE), 'yes')
  const account = selectorOf({ account: 'x' })
  assert.equal(matchLine(account, { ...LINE, account_id: 'x' }), 'yes')
  assert.equal(matchLine(account, { ...LINE, account_id: 'y' }), 'no')
  assert.equal(matchLine(account, LINE), 'unsaid')
  const source = selectorOf({ source: 'src_1234567' })
  assert.equal(matchLine(source, { ...LINE, _source_id: 'src_1234567' }), 'yes')
  assert.equal(matchLine(source, { ...LINE, _source_id: '' }), 'no')
  assert.equal(matchLine(source, LINE), 'unsaid')
})
