import assert from 'node:assert/strict'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import crawlers from 'crawler-user-agents'
import { isbotPatterns, list } from 'isbot'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { EventEnvelope } from '../../../schemas/api/event.ts'
import { BOT_REASONS, BOTS, BOTS_MAX, type Bot } from '../../../schemas/bots.ts'
import { SIGNS } from '../../../src/enrichment/bots/signs.ts'
import { botOf, LOOSE } from '../../../src/enrichment/bots/user-agent.ts'
import { EnrichmentEngine } from '../../../src/enrichment/engine.ts'
import { STARTER_DIR } from '../../../src/enrichment/files/folder.ts'
import { claimOf, tenantEnricher } from '../../../src/enrichment/judge.ts'
import { classifyAsNumber } from '../../../src/enrichment/rules/as-numbers.ts'
import type { Enrichment } from '../../../src/pipeline/event/enrichment.ts'
import { EnvelopeState, FILTERED_STATES } from '../../../src/pipeline/event/envelope.ts'
import { columnOf } from '../../../src/pipeline/event/row.ts'
import { compileValidator } from '../../../src/pipeline/event/validator.ts'
import { runStages } from '../../../src/pipeline/runner/step-worker.ts'
import { acceptEvents } from '../../../src/pipeline/sources/live/keep.ts'
import { enrich } from '../../../src/pipeline/stages/enrich.ts'
import { filterNoise } from '../../../src/pipeline/stages/filter-noise.ts'
import { readWhole } from '../../support/batch.ts'
import { BOTS_TRIED, BROWSERS, UNNAMED_BOTS } from '../../support/bots.ts'
import { address } from '../../support/enrichment-data.ts'
import { readEvents } from '../../support/read-events.ts'

/** The default lists and tables, and the AS of each address that the test asks for. */
const engine = await engineOf()

async function engineOf() {
  const dir = await mkdtemp(join(tmpdir(), 'ipid-bots-'))
  after(() => rm(dir, { recursive: true, force: true }))
  for (const file of ['organisations.csv', 'bot-published.txt']) {
    await copyFile(join(STARTER_DIR, file), join(dir, file))
  }
  const rows = new Map(BOTS_TRIED.map(({ ip, asn, name }) => [ip, `${ip}\t${ip}\t${asn}\tUS\t${name}`]))
  await writeFile(join(dir, 'asn.tsv'), `${[...rows.values()].join('\n')}\n`)
  const made = new EnrichmentEngine({ dir, log: pino({ level: 'silent' }), metrics: new Registry() })
  await made.start()
  await made.stop()
  return made
}

const claimed = (userAgent: string) => claimOf({ properties: JSON.stringify({ user_agent: userAgent }), extra: '' })

function judged(ip: string, userAgent = ''): Enrichment {
  return engine.enrich(address(ip), claimed(userAgent))
}

test('crawlers, previews, monitors, gateways, Tor exits and VPNs are noise, with operator and proof', () => {
  const shown: string[] = []
  for (const { ip, name, userAgent, as } of BOTS_TRIED) {
    const { noise, classification, filteredAs = classification } = judged(ip, userAgent)
    assert.equal(filteredAs, as, `${ip} ${name} ${userAgent ?? ''}`)
    if (!noise) shown.push(name)
  }
  assert.ok(BOTS_TRIED.length >= 60, `${BOTS_TRIED.length}`)
  assert.deepEqual(shown, [])
})

test('no browser of a person is a bot, and neither is an app that names itself', () => {
  assert.deepEqual(
    BROWSERS.filter((userAgent) => botOf(userAgent) !== undefined),
    [],
  )
  assert.ok(BROWSERS.length >= 40)
})

test('a bot without a name of ours is one, also when it calls itself a device', () => {
  assert.deepEqual(
    UNNAMED_BOTS.filter((userAgent) => botOf(userAgent) !== 'other'),
    [],
  )
})

test('most bots of a public collection are recognised', (t) => {
  const all = crawlers.flatMap(({ instances }) => instances)
  const found = all.filter((userAgent) => botOf(userAgent) !== undefined)
  t.diagnostic(`recognised ${found.length} of ${all.length} user agents of bots`)
  assert.ok(found.length > 0.85 * all.length)
})

test('the patterns that are left out are patterns of the package', () => {
  assert.deepEqual(
    LOOSE.filter((pattern) => !list.includes(pattern)),
    [],
  )
  assert.equal(isbotPatterns('Acme Desktop/2.1.0').length > 0, true)
})

test('a user agent of any content is judged at once', () => {
  const parts = [
    'a',
    ' ',
    '1',
    '.',
    '-',
    '(',
    'Mozilla/5.0 (',
    'x1 1.0 ',
    'compatible; ',
    '@a',
    '\\',
    'é',
    'bot-',
    '/1.',
  ]
  const from = performance.now()
  for (const part of parts) botOf(part.repeat(4_096 / part.length).padEnd(100_000, '!'))
  const ms = performance.now() - from
  assert.ok(ms < 500, `${ms} ms`)
})

test('a user agent is found where libraries and sources put it, and nowhere else', () => {
  const agent = 'Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)'
  const of = (properties: unknown, extra: unknown = '') =>
    claimOf({ properties: properties ? JSON.stringify(properties) : '', extra: extra ? JSON.stringify(extra) : '' })
  for (const properties of [
    { user_agent: agent },
    { userAgent: agent },
    { $user_agent: agent },
    { $raw_user_agent: agent },
    { useragent: agent, note: 'é' },
    { segment: { context: { userAgent: agent } } },
    { rudderstack: { context: { userAgent: agent } } },
    { context: { userAgent: agent } },
    { note: 'the "user_agent":"x"', user_agent: agent },
  ]) {
    assert.equal(of(properties), 'ahrefsbot', JSON.stringify(properties))
    assert.equal(of('', properties), 'ahrefsbot', JSON.stringify(properties))
  }
  assert.equal(claimOf({ properties: `{"user_agent" :\n"${agent.replace('/', '\\/')}"}`, extra: '' }), 'ahrefsbot')
  for (const properties of [
    '',
    { text: agent },
    { text: `"user_agent":"${agent}"` },
    { lead: { user_agent: agent } },
    { user_agent: 7 },
    { user_agent: null },
    { user_agent: BROWSERS[0], other: { user_agent: agent } },
  ]) {
    assert.equal(of(properties), undefined, JSON.stringify(properties))
  }
  for (const broken of ['{"user_agent":"AhrefsBot', '{"user_agent":', '{"user_agent"']) {
    assert.equal(claimOf({ properties: broken, extra: '' }), undefined)
  }
})

const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

test('a claim is verified by the ranges of its operator only', () => {
  const as = (ip: string, userAgent = '') => judged(ip, userAgent).filteredAs
  assert.equal(as('66.249.66.1'), 'bot:googlebot:verified')
  assert.equal(as('66.249.66.1', BROWSERS[0]), 'bot:googlebot:verified')
  assert.equal(as('66.249.66.1', GOOGLEBOT), 'bot:googlebot:verified')
  assert.equal(as('66.249.66.1', 'AdsBot-Google (+http://www.google.com/adsbot.html)'), 'bot:google-special:verified')
  assert.equal(as('66.249.66.1', 'Mozilla/5.0 (compatible; AhrefsBot/7.0)'), 'bot:googlebot:verified')
  assert.equal(as('17.1.2.3', GOOGLEBOT), 'bot:googlebot:claimed')
  assert.equal(as('10.1.2.3', GOOGLEBOT), undefined)
  assert.equal(judged('10.1.2.3', GOOGLEBOT).classification, 'reserved')
  const office = judged('17.1.2.3')
  assert.deepEqual([office.noise, office.companyId], [false, 'apple.com'])
  const crawler = judged('17.1.2.3', GOOGLEBOT)
  assert.deepEqual([crawler.noise, crawler.companyId, crawler.classification], [true, '', 'bot'])
  assert.equal(crawler, judged('17.1.2.3', GOOGLEBOT))
})

test('rules of a tenant outrank the user agent', () => {
  const of = (rules: readonly string[], ip = '17.1.2.3') => {
    const { noise, filteredAs, companyId, rule } = tenantEnricher(engine, { rules }).enrich(address(ip), 'googlebot')
    return [noise ? 'filtered' : 'ok', filteredAs, companyId, rule]
  }
  assert.deepEqual(of([]), ['filtered', 'bot:googlebot:claimed', '', undefined])
  assert.deepEqual(of(['keep bot']), ['ok', undefined, '', 'keep bot'])
  assert.deepEqual(of(['keep bot'], '66.249.66.1'), ['ok', undefined, '', 'keep bot'])
  assert.deepEqual(of(['own 17.1.2.0/24', 'keep bot']), ['filtered', 'own', '', 'own 17.1.2.0/24'])
  assert.deepEqual(of(['never-noise apple.com']), ['ok', undefined, 'apple.com', 'never-noise apple.com'])
})

test('a live event and a line of a batch job are counted by the same reason', async () => {
  const events = [
    { ip: '17.1.2.3', event_id: 'office', properties: { user_agent: BROWSERS[0] } },
    { ip: '17.1.2.3', event_id: 'claimed', properties: { user_agent: GOOGLEBOT } },
    { ip: '66.249.66.1', event_id: 'verified' },
    { ip: '17.1.2.4', event_id: 'extra', context: { userAgent: 'ChatGPT-User/1.0' } },
    { ip: '17.1.2.5', event_id: 'escaped', properties: { user_agent: 'Bytespider\t"é"' } },
    { ip: '8.34.34.1', event_id: 'gateway' },
  ]
  const lines = events.map((event) => JSON.stringify(event))
  const receipt = { tenantId: 'acme', receivedAtMs: Date.UTC(2026, 10, 21), archived: false, mask: undefined }
  const text = `{"events":[${lines.join()}]}`
  const live = acceptEvents(text, readEvents(text), { ...receipt, requestId: 'r', sourceId: undefined }, engine)
  const context = {
    ...receipt,
    job: 'job',
    partitions: 1,
    check: compileValidator(EventEnvelope),
    enricher: engine,
    isJudged: false,
  }
  const reading = readWhole({ firstLine: 1, gaps: [], bytes: Buffer.from(lines.join('\n')) }, context)
  const block = reading.blocks.get(0)!
  assert.equal([...block.states].filter((state) => state === EnvelopeState.Raw).length, 3)
  const delivery = { entry: '1-0', partition: 0, repeated: false, owner: Buffer.alloc(8) }
  const tools = { enricher: engine, hostnames: undefined, seen: { claim: async () => [], held: async () => [] } }
  const settled = await runStages([enrich, filterNoise], block, delivery as never, tools)
  assert.deepEqual(columnOf(settled.output!, 'event_id'), ['office'])
  const sums = (counts: Iterable<readonly [string, number]>) =>
    [...counts].map(([key, n]) => `${key.split('\t').slice(3).join()} ${n}`).sort()
  const expected = [
    'filtered,,vpn 1',
    'filtered,bot:bytespider:claimed,bot 1',
    'filtered,bot:chatgpt-user:assistant:claimed,bot 1',
    'filtered,bot:googlebot:claimed,bot 1',
    'filtered,bot:googlebot:verified,bot 1',
  ]
  assert.deepEqual(sums(live.outcomes), expected)
  assert.deepEqual(sums([...settled.outcomes, ...reading.outcomes]), expected)
})

test('each reason keeps its byte in blocks', () => {
  const names = Object.keys(BOTS)
  assert.ok(names.length <= BOTS_MAX, 'a state is one byte')
  // Blocks that wait in Redis during an update hold positions: names may only be added at the end.
  assert.equal(names.slice(0, 6).join(), 'other,googlebot,google-special,google-fetcher,google-agent,bingbot')
  assert.equal(names.indexOf('http-library'), 79)
  assert.equal(FILTERED_STATES.get(18), 'bot:googlebot:verified')
  assert.equal(FILTERED_STATES.get(19), 'bot:googlebot:claimed')
  assert.ok(BOT_REASONS.includes('bot:chatgpt-user:assistant:verified'))
  assert.equal(new Set(BOT_REASONS).size, 2 * names.length)
})

test('each autonomous system of a bot has its class', () => {
  for (const bot of Object.keys(BOTS) as Bot[]) {
    for (const asn of SIGNS[bot].systems ?? []) assert.equal(classifyAsNumber(asn), 'bot', `${bot} AS${asn}`)
  }
})
