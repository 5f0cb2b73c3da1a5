import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { pick, TestSite } from '../support/site.ts'
import { until } from '../support/until.ts'

test('demo visits, quality, comparison and learnt rules of a running instance', async (t) => {
  const site = new TestSite(t)
  const enrichDir = join(dirname(site.dir), 'enrich')
  mkdirSync(enrichDir)
  const dataFile = join(enrichDir, 'mine.csv')
  writeFileSync(dataFile, 'network,org_name,domain,classification\n17.0.0.0/8,Mine,mine.example,business\n')
  site.env.ENRICH_DIR = enrichDir
  const ready = await site.start().ready()
  // Commands get only DATA_DIR.
  delete site.env.ENRICH_DIR
  const json = (...args: readonly string[]) => site.json(...args)
  await json('tenant', 'create', 'acme')

  // Made-up companies work on weekdays: fewer days may all be a weekend.
  const demo = await json('demo', '--days', '10')
  assert.deepEqual(pick(demo, 'tenant_id', 'organisations', 'noise_networks'), ['demo', 1, 0])
  const rows = async () => {
    const found = await json('sql', 'SELECT toUInt32(count()) AS n FROM events WHERE properties LIKE \'%"demo":true%\'')
    return Number(found.data[0].n)
  }
  await until(rows, (n) => n === demo.events)
  const again = await site.ipid('demo')
  assert.match(again.stderr, /^ipid: tenant demo has made-up visits: ipid demo --remove removes them$/m)
  const { stored, all, named, corrections } = await json('quality', 'demo')
  assert.ok(all.events > 0 && all.right === all.events && all.low < 1 && all.high === 1)
  assert.ok(stored >= all.events)
  assert.deepEqual([named.now.named, named.now.share, named.before.events], [named.now.events, 1, 0])
  assert.deepEqual([corrections.corrections, corrections.companies], [[], 1])
  const accuracy = (await site.ipid('quality', 'demo')).stdout
  assert.match(accuracy, /^Named +\d+ +100 %/m)
  assert.match(accuracy, /^all +(\d+) +\1 +0 +0 +100 % {2}\(\d+ to 100\)$/m)
  const wrongDir = join(dirname(site.dir), 'other')
  mkdirSync(wrongDir)
  writeFileSync(join(wrongDir, 'wrong.csv'), 'network,org_name,domain\n17.0.0.0/8,Wrong,wrong.example\n')
  const { differ, other_data, ...compared } = await json('compare', 'demo', '--with', wrongDir)
  assert.deepEqual([other_data[0], compared.agree.addresses, compared.other.right], ['wrong', 0, 0])
  assert.ok(differ.checked > 0 && differ.this_right === differ.checked && differ.other_right === 0)
  const printed = (await site.ipid('compare', 'demo', '--with', wrongDir)).stdout
  assert.match(printed, /^both name one, and they differ +\d+ +\d+ +\d+ +\d+ +0$/m)
  assert.match((await site.ipid('compare', 'demo', '--with', dataFile)).stderr, /^ipid: --with ".*" is not a folder\n$/)

  assert.deepEqual((await json('learn', 'demo')).proposals, [])
  const { key: ofAcme } = await json('key', 'create', 'acme')
  const events = ['a', 'b', 'c'].map((name, i) => ({
    ...{ ip: '17.1.1.9', timestamp: new Date(Date.now() - i * 86_400_000).toISOString() },
    user_properties: { email: `${name}@office.example` },
  }))
  const headers = { 'x-api-key': ofAcme }
  await fetch(`${ready.url}/v1/ingest`, { method: 'POST', headers, body: JSON.stringify({ events }) })
  const { proposals } = await until(
    () => json('learn', 'acme'),
    (found) => found.proposals.length > 0,
  )
  const rule = 'is 17.1.1.9/32 office.example'
  assert.deepEqual(pick(proposals[0], 'rule', 'people', 'days', 'share', 'now'), [rule, 3, 3, 1, 'mine.example'])
  const { id } = proposals[0]
  assert.match(
    (await site.ipid('learn', 'acme')).stdout,
    new RegExp(`^${id} +17\\.1\\.1\\.9/32 +office\\.example +3 +100 % +3 `, 'm'),
  )
  const unknown = await site.ipid('learn', 'acme', '--apply', 'x')
  assert.deepEqual(
    [unknown.code, unknown.stderr],
    [2, 'ipid: there is no proposal "x": "ipid learn acme" lists them\n'],
  )
  assert.equal((await json('learn', 'acme', '--apply', id)).applied.rule, rule)
  assert.deepEqual((await json('rules', 'list', 'acme')).rules, [rule])
  assert.deepEqual((await json('learn', 'acme')).proposals, [])
  // The rule names the company of later events, so they prove nothing about the data.
  const judgedByRule = await until(
    async () => {
      await fetch(`${ready.url}/v1/ingest`, { method: 'POST', headers, body: JSON.stringify({ events: [events[0]] }) })
      return await json('quality', 'acme')
    },
    (found) => found.rules.events > 0,
  )
  assert.deepEqual(pick(judgedByRule.rules, 'other', 'none', 'cases', 'precision'), [0, 0, 1, 1])
  assert.deepEqual(pick(judgedByRule.all, 'right', 'cases', 'precision'), [0, 1, 0])
  assert.deepEqual(judgedByRule.corrections.corrections, [
    { data_set: 'mine', kind: 'wrong', company_id: 'mine.example', rule },
  ])
  assert.match((await site.ipid('quality', 'acme')).stdout, /^mine +1 +1$/m)
  assert.match((await site.ipid('quality', 'acme')).stdout, /^rules "is" +1 +1 +0 +0 +100 % /m)
  assert.match((await site.ipid('quality', 'beta')).stderr, /^ipid: unknown tenant "beta"\n$/)
  const removed = await site.ipid('demo', '--remove', '--json')
  assert.deepEqual(JSON.parse(removed.stdout), { tenant_id: 'demo', removed: demo.events })
  assert.equal(await rows(), 0)
})
