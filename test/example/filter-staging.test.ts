import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StageTools } from '../../src/pipeline/declaration/stage.ts'
import { packBlock } from '../../src/pipeline/event/block.ts'
import { tsv } from '../../src/pipeline/event/row.ts'
import { envelope } from '../support/pipeline.ts'
import { filterStaging } from './filter-staging.ts'

test('events of a site before its release are dropped, whatever other properties they have', () => {
  const properties = [
    '{"host":"staging.example.com"}',
    '{"host":"www.example.com\\t","note":"staging.example.com"}',
    '{"host":7}',
    '"staging.example.com"',
    '',
    '{ "x": "\\n", "host": "preview.example.com" }',
  ]
  const block = packBlock(properties.map((json, i) => envelope('t', `e${i}`, { properties: tsv(json) })))
  const { outcomes } = filterStaging.decide(block, undefined, {} as StageTools)
  assert.deepEqual([...outcomes!.keys()], [0, 5])
  assert.deepEqual(outcomes!.get(0), { kind: 'drop', reason: 'staging' })
})
