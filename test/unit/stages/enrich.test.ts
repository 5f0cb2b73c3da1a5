import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOTHING_KNOWN } from '../../../src/enrichment/answers/answer.ts'
import type { StageTools } from '../../../src/pipeline/declaration/stage.ts'
import { type Address, parseAddress } from '../../../src/pipeline/event/address.ts'
import { type Block, identityAt, packBlock } from '../../../src/pipeline/event/block.ts'
import type { Enrichment } from '../../../src/pipeline/event/enrichment.ts'
import { EnvelopeState, IDENTITY_BYTES, stateOf } from '../../../src/pipeline/event/envelope.ts'
import { rowSuffix, rowTail } from '../../../src/pipeline/event/make-row.ts'
import { enrichmentColumns } from '../../../src/pipeline/event/row.ts'
import { enrich } from '../../../src/pipeline/stages/enrich.ts'

function answer(companyId: string, noise: boolean): Enrichment {
  const facts = { ...NOTHING_KNOWN, companyId, noise, data: { org_name: `${companyId} Zürich 株式会社 😀` } }
  return { ...facts, ...enrichmentColumns(facts) }
}

const ANSWERS = [NOTHING_KNOWN, answer('example.com', false), answer('ünï\tcode', false), answer('cloud.example', true)]
const enricher = { enrich: ({ v4, v6 }: Address) => ANSWERS[(v6?.[7] ?? v4) % ANSWERS.length]! }
const TOOLS = { enricher, hostnames: undefined } as unknown as StageTools
const ACCOUNTS = ['', 'account-1', 'конто', '\\t']

const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)]!

const EMAIL = '{"email":"é@Zürich.example","plan":"\\\\\\\\"}'

/** Envelopes of all states in random order; raw ones have the row of `rawRow`. */
function envelopes(count: number) {
  return Array.from({ length: count }, (_, i) => {
    const n = Math.floor(Math.random() * 200)
    const user = pick(['', '', '{"name":"a@b"}', EMAIL])
    const ip = pick([`17.0.0.${n}`, `2001:db8::${(n + 1).toString(16)}`])
    const state = pick([EnvelopeState.Raw, EnvelopeState.Raw, EnvelopeState.Enriched, EnvelopeState.Noise])
    const row = `${ip}\tacme\tévénement ${i}\t0\t0\tpage\t\\N\tweb\t{}\t${user}\t\t${pick(ACCOUNTS)}`
    return {
      state,
      row: state === EnvelopeState.Raw ? row : pick([`${row}\tdone`, '']),
      identity: `${i}`.padStart(IDENTITY_BYTES),
    }
  })
}

/** Event by event. */
function expected(events: ReturnType<typeof envelopes>, job: string | undefined, sourceId: string | undefined) {
  return events.map(({ state, row, identity }) => {
    if (state !== EnvelopeState.Raw) return { state, row, identity }
    const enrichment = enricher.enrich(parseAddress(row.slice(0, row.indexOf('\t')))!)
    const knownDomain = row.includes(EMAIL) ? 'xn--zrich-kva.example' : ''
    return {
      state: stateOf(enrichment),
      row:
        row + rowSuffix(enrichment, !row.endsWith('\t')) + rowTail({ job, sourceId }, { knownDomain, browserKey: 0 }),
      identity,
    }
  })
}

function eventsOf(block: Block) {
  const rows = block.rows.toString('utf8').split('\n').slice(0, -1)
  assert.equal(rows.length, block.count)
  return rows.map((row, i) => ({ state: block.states[i], row, identity: identityAt(block, i) }))
}

test('raw rows are completed the same as alone, and all others stay unchanged', () => {
  for (let round = 0; round < 300; round++) {
    const events = envelopes(1 + Math.floor(Math.random() * 40))
    const job = pick([undefined, 'job', 'jöb'])
    const sourceId = job && pick([undefined, 'src_0123abc'])
    const block = { ...packBlock(events, job, 'p:1'), sourceId }
    const before = Buffer.from(block.rows)
    const changed = enrich.decide(block, undefined, TOOLS).changed ?? block
    assert.deepEqual(eventsOf(changed), expected(events, job, sourceId))
    assert.deepEqual([changed.job, changed.sourceId, changed.commit], [job, sourceId, 'p:1'])
    assert.deepEqual(eventsOf(block), events)
    assert.deepEqual(block.rows, before)
  }
})
