import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Snapshot } from '../../../src/enrichment/answers/snapshot.ts'
import { makeFacts } from '../../../src/enrichment/facts.ts'
import { DEFAULT_ENRICHMENT_LIMITS } from '../../../src/enrichment/limits.ts'
import type { Provider } from '../../../src/enrichment/providers/provider.ts'
import { type Address, parseAddress } from '../../../src/pipeline/event/address.ts'
import { address } from '../../support/enrichment-data.ts'

function provider(name: string, find: (address: Address) => ReturnType<Provider['find']>): Provider {
  return {
    name,
    kind: 'company',
    recognisedAs: name,
    builtAt: undefined,
    records: 1,
    warnings: [],
    find,
    networkOf: () => '81.2.69.0/24',
  }
}

const facts = makeFacts({ business_name: 'Example' }, { orgName: 'Example' }, { name: 'Example', domain: undefined })

test('a provider that cannot read a record is reported, and the others answer', () => {
  const failed: string[] = []
  const broken = provider('broken', () => {
    throw new RangeError('offset out of range')
  })
  const snapshot = new Snapshot([broken, provider('good', () => facts)], DEFAULT_ENRICHMENT_LIMITS, ({ name }) =>
    failed.push(name),
  )
  const answer = snapshot.resolve(address('81.2.69.1'))
  assert.equal(answer.data.business_name, 'Example')
  assert.deepEqual(failed, ['broken'])
})

test("a carrier's AS row ranks below a company's address row, another AS row above it", () => {
  const row = (explicit: 'isp' | 'business') =>
    makeFacts({ business_name: explicit }, { explicit }, { name: explicit, domain: undefined })
  const company = makeFacts({ business_name: 'company', asn: 64_500 }, {}, { name: 'company', domain: undefined })
  const tableOf = (explicit: 'isp' | 'business'): Provider => ({
    ...provider('table', () => undefined),
    kind: 'table',
    findAs: (asn) => (asn === 64_500 ? row(explicit) : undefined),
  })
  const namesWith = (table: Provider) => {
    const providers = [table, provider('company', () => company)]
    return new Snapshot(providers, DEFAULT_ENRICHMENT_LIMITS, () => {}).lookup(address('81.2.69.1'), {}).answered
  }
  assert.deepEqual(namesWith(tableOf('isp')), ['company', 'table'])
  assert.deepEqual(namesWith(tableOf('business')), ['table', 'company'])
})

test('equal findings are merged once', () => {
  const snapshot = new Snapshot([provider('good', () => facts)], DEFAULT_ENRICHMENT_LIMITS, () => {})
  assert.equal(snapshot.resolve(address('81.2.69.1')), snapshot.resolve(address('81.2.69.2')))
})

test('a cached answer keeps the address, but not the request that contained it', () => {
  const snapshot = new Snapshot([provider('good', () => facts)], DEFAULT_ENRICHMENT_LIMITS, () => {})
  const usedBefore = usedHeap()
  for (let i = 0; i < 2_000; i++) {
    const ip = i % 2 === 0 ? `192.168.1${10 + (i % 90)}.1${10 + (i >> 5)}` : `2001:db8:0000:1::${i.toString(16)}`
    // Made like a body: a repeated string would be made of parts.
    const body = Buffer.alloc(50_000, `{"ip":"${ip}"}`).toString('latin1')
    const cut = parseAddress(body.slice(7, 7 + ip.length))!
    snapshot.remember(cut, snapshot.resolve(cut))
    assert.ok(snapshot.cached(cut))
  }
  assert.ok(snapshot.cachedAnswers > 1_900)
  const grown = usedHeap() - usedBefore
  assert.ok(grown < 10_000_000, `${grown} bytes`)
})

function usedHeap(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}
