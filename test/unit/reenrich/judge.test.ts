import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bot } from '../../../schemas/bots.ts'
import { judge } from '../../../src/operations/reenrich/judge.ts'
import type { TodaysData } from '../../../src/operations/reenrich/ports.ts'
import { todaysData } from '../../support/todays-data.ts'

const COMPANY = { companyId: 'a.example', business_name: "A\t\\ '", domain: 'a.example', asn: 64_500 }
const data = todaysData((ip) =>
  ip.startsWith('3.') ? { companyId: '', noise: true, classification: 'cloud' } : COMPANY,
)
const values = ['a.example', "A\t\\ '", '', '', 'a.example', '', '', '', '', '64500', '', '70']

test('equal values are no change, whatever characters they contain', () => {
  assert.deepEqual(judge({ ip: '17.0.0.1', values, agents: [] }, data), {
    ...{ to: 'events', hiding: undefined, classification: '', values, isChange: false },
  })
  const judged = judge({ ip: '17.0.0.1', values: values.with(4, 'old.example'), agents: [] }, data)
  assert.deepEqual([judged?.isChange, judged?.values], [true, values])
})

test('noise is hidden with its stored values, and changes nothing when it is hidden for the same reason', () => {
  const cloud = values
    .map(() => '')
    .with(7, 'cloud')
    .with(9, '0')
    .with(11, '0')
  const judged = judge({ ip: '3.0.0.1', values: cloud, agents: [] }, data)
  assert.deepEqual([judged?.values, judged?.to, judged?.isChange], [cloud, 'hidden', true])
  const again = judge({ ip: '3.0.0.1', values: cloud, agents: [], hiding: { rule: '', reason: '' } }, data)
  assert.deepEqual([again?.to, again?.isChange], ['hidden', false])
  const shown = judge({ ip: '17.0.0.1', values, agents: [], hiding: { rule: '', reason: '' } }, data)
  assert.deepEqual([shown?.to, shown?.isChange], ['events', true])
})

test('a stored host name counts as the answer of reverse DNS', () => {
  const named = values.with(3, 'mail.a.example')
  const judged = judge({ ip: '2620::1', values: named, agents: [] }, data)
  assert.deepEqual([judged?.values, judged?.isChange], [named, false])
})

test('the text stored in place of an address is not judged', () => {
  for (const ip of ['', '#1f2e3d', '203.0.113.0/24#1f2e', '17.0.0', '17.0.0.01']) {
    assert.equal(judge({ ip, values, agents: [] }, data), undefined, ip)
  }
})

test('an event is judged by its stored user agent, as a new event is', () => {
  const claims: (Bot | undefined)[] = []
  const noting: TodaysData = {
    enrich(address, hostname, claimed) {
      claims.push(claimed)
      return data.enrich(address, hostname)
    },
  }
  const stored = (agents: string[], classification = '') =>
    judge({ ip: '17.0.0.1', values: values.with(7, classification), agents }, noting)
  const [human, bot] = [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0',
    'AhrefsBot/7.0',
  ]
  for (const agents of [
    [bot, ''],
    ['', bot],
    [human, bot],
    [human, ''],
    ['', ''],
  ])
    stored(agents)
  // Today's data and its user agent decide, not the stored values.
  stored(['', ''], 'bot')
  assert.deepEqual(claims, ['ahrefsbot', 'ahrefsbot', 'ahrefsbot', undefined, undefined, undefined])
})
