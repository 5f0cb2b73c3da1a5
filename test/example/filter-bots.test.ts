import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StageTools } from '../../src/pipeline/declaration/stage.ts'
import { packBlock } from '../../src/pipeline/event/block.ts'
import { tsv } from '../../src/pipeline/event/row.ts'
import { envelope } from '../support/pipeline.ts'
import { filterBots } from './filter-bots.ts'

test('events whose user agent names a bot are dropped, whatever other properties they have', () => {
  const properties = [
    '{"user_agent":"Mozilla/5.0 (compatible; Googlebot/2.1)"}',
    '{"user_agent":"Mozilla/5.0\\tFirefox","note":"a bot wrote this"}',
    '{"user_agent":7}',
    '"Googlebot"',
    '',
    '{ "x": "\\n", "user_agent": "Yahoo! Slurp" }',
  ]
  const block = packBlock(properties.map((json, i) => envelope('t', `e${i}`, { properties: tsv(json) })))
  const { outcomes } = filterBots.decide(block, undefined, {} as StageTools)
  assert.deepEqual([...outcomes!.keys()], [0, 5])
  assert.deepEqual(outcomes!.get(0), { kind: 'drop', reason: 'bots' })
})
