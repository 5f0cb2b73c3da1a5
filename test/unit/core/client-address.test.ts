import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trustedProxies } from '../../../src/http/engine/trusted-proxies.ts'
import { parseAddress } from '../../../src/pipeline/event/address.ts'
import {
  clientIn,
  forwardedFor,
  readAddress,
  readAddressBeforePort,
  saysNoAddress,
  visitorInField,
  visitorOfRequest,
} from '../../../src/pipeline/event/client-address.ts'

const TRUSTED = trustedProxies(['127.0.0.0/8', '18.0.0.0/8'])

test('one address is read in every spelling of headers and logs', () => {
  const cases: Record<string, string | undefined> = {
    '17.0.0.1': '17.0.0.1',
    '17.0.0.1:52614': '17.0.0.1',
    ' \t17.0.0.1 ': '17.0.0.1',
    '+17.0.0.1+': '17.0.0.1',
    '"17.0.0.1"': '17.0.0.1',
    '" 17.0.0.1:443 "': '17.0.0.1',
    '17.0.0.1:_gazonk': '17.0.0.1',
    '[17.0.0.1]:80': '17.0.0.1',
    '2001:DB8:0::1': '2001:db8::1',
    '[2001:db8::1]': '2001:db8::1',
    '[2001:db8::1]:443': '2001:db8::1',
    '"[2001:db8::1]:_p"': '2001:db8::1',
    '::ffff:17.0.0.1': '17.0.0.1',
    '[::ffff:1100:1]:443': '17.0.0.1',
    'fe80::1%eth0': 'fe80::1',
    '[fe80::1%25en0]:8080': 'fe80::1',
    '17.0.0.1:523456': undefined,
    '17.0.0.1:': undefined,
    '17.0.0.1/32': undefined,
    '17.0.0.256': undefined,
    '017.0.0.1': undefined,
    '17.0.0.1%eth0': undefined,
    '[2001:db8::1': undefined,
    '2001:db8::1]': undefined,
    '"17.0.0.1': undefined,
    '17.0.0.1, 17.0.0.2': undefined,
    'www.example.com': undefined,
    unknown: undefined,
    _hidden: undefined,
    '-': undefined,
    '': undefined,
    ['"'.repeat(200)]: undefined,
    [`${' '.repeat(200)}17.0.0.1`]: undefined,
  }
  for (const [written, right] of Object.entries(cases)) assert.equal(readAddress(written)?.text, right, written)
})

test('AWS writes a port after every address, and no brackets', () => {
  const cases: Record<string, string | undefined> = {
    '17.0.0.1:46532': '17.0.0.1',
    '2001:db8::1:443': '2001:db8::1',
    '2001:db8:0:0:0:0:0:1:443': '2001:db8::1',
    '[2001:db8::1]:443': '2001:db8::1',
    '::ffff:17.0.0.1:443': '17.0.0.1',
    '17.0.0.1': undefined,
    '2001:db8::1:abcd': undefined,
    '-': undefined,
  }
  for (const [written, right] of Object.entries(cases))
    assert.equal(readAddressBeforePort(written)?.text, right, written)
})

test('a text that says there is no address differs from a broken one', () => {
  for (const text of ['', ' ', '-', '"-"', 'unknown', 'Unknown', '_hidden', '_hidden:_p', 'unknown:80']) {
    assert.ok(saysNoAddress(text), text)
  }
  for (const text of ['17.0.0.1', 'nobody', 'a_b', '--']) assert.ok(!saysNoAddress(text), text)
})

test('Forwarded: text in quotes is one value, and a broken header names no client', () => {
  const cases: [string, readonly string[] | undefined][] = [
    ['for=17.0.0.1;host="x, for=17.9.9.9"', ['17.0.0.1']],
    ['host="a;for=17.9.9.9;b";for=17.0.0.1', ['17.0.0.1']],
    ['for="17.0.0.1:_gazonk"', ['17.0.0.1:_gazonk']],
    ['For="[2001:db8::1]:443";proto=https;by=203.0.113.43', ['[2001:db8::1]:443']],
    ['for=18.0.0.9, for=17.0.0.1', ['18.0.0.9', '17.0.0.1']],
    [' for=17.0.0.1 ; proto=http , , for=_hidden,', ['17.0.0.1', '_hidden']],
    ['for="a\\"b, for=17.9.9.9";x=y', ['a"b, for=17.9.9.9']],
    ['host="a\\\\";for=17.0.0.1', ['17.0.0.1']],
    ['for=17.0.0.1:80', ['17.0.0.1:80']],
    ['proto=https', ['unknown']],
    ['for=', ['unknown']],
    ['', []],
    // A visitor's open quote takes what the proxy adds.
    ['for=17.9.9.9;x=", for=17.0.0.1', undefined],
    ['for=17.9.9.9;x=", for="[2001:db8::1]:443"', undefined],
    ['for=17.0.0.1;for=17.9.9.9', undefined],
    ['17.0.0.1', undefined],
    ['for="17.0.0.1"x', undefined],
    ['for = 17.0.0.1', undefined],
    [`for=17.0.0.1;x=${'a'.repeat(9_000)}`, undefined],
  ]
  for (const [header, right] of cases) assert.deepEqual(forwardedFor(header), right, header)
})

test('a live list is walked from the right past trusted proxies, and ends at an entry without an address', () => {
  const cases: Record<string, string | undefined> = {
    '17.0.0.1': '17.0.0.1',
    '17.0.0.1,': '17.0.0.1',
    ', 17.0.0.1,,': '17.0.0.1',
    '17.0.0.1:52614, 18.1.2.3:443': '17.0.0.1',
    '"17.0.0.1, 18.1.2.3"': '17.0.0.1',
    '17.9.9.9, 17.0.0.1': '17.0.0.1',
    '17.9.9.9, 10.0.0.1': '10.0.0.1',
    '17.9.9.9, unknown': undefined,
    '17.9.9.9, _hidden, 18.0.0.1': undefined,
    '17.9.9.9, nonsense, 18.0.0.1': undefined,
    '18.0.0.1': undefined,
    '': undefined,
    [`${'17.9.9.9,'.repeat(100_000)}17.0.0.1`]: '17.0.0.1',
    // The cut is in an entry.
    [`117.0.0.1,${'18.0.0.1,'.repeat(454)}18.0.0.2`]: undefined,
  }
  for (const [list, right] of Object.entries(cases)) assert.equal(clientIn(list, TRUSTED)?.text, right, list.slice(-40))
})

test('a client of Cloudflare on its own network is no proxy, and Google adds an entry of its own', () => {
  const proxies = trustedProxies(['127.0.0.1', 'cloudflare', 'fastly', 'google'])
  const cases: [peer: string, list: string, right: string | undefined][] = [
    ['127.0.0.1', '17.0.0.1, 172.68.10.5', '17.0.0.1'],
    ['127.0.0.1', '17.9.9.9, 104.28.1.1, 172.68.10.5', '104.28.1.1'],
    ['172.68.10.5', '17.9.9.9, 104.28.1.1', '104.28.1.1'],
    ['151.101.1.1', '17.0.0.1, 151.101.2.2', '17.0.0.1'],
    ['35.191.0.9', '17.9.9.9, 17.0.0.1, 34.8.8.8', '17.0.0.1'],
    ['127.0.0.1', '17.0.0.1, 34.8.8.8, 130.211.0.4', '17.0.0.1'],
    ['35.191.0.9', '34.8.8.8', undefined],
  ]
  for (const [peer, list, right] of cases) {
    assert.equal(clientIn(list, proxies, proxies.find(parseAddress(peer)!))?.text, right, list)
  }
})

test('in a log the list counts only if the peer is private, local or a trusted proxy', () => {
  const cases: [peer: string | undefined, list: string | undefined, right: string | undefined][] = [
    ['10.0.0.5', '17.0.0.1', '17.0.0.1'],
    ['10.0.0.5:443', '17.0.0.1:52614, 10.1.2.3:443', '17.0.0.1'],
    ['[fd00::1]', '2001:db8::1', '2001:db8::1'],
    ['::ffff:10.0.0.5', '17.0.0.1', '17.0.0.1'],
    ['18.0.0.1', '17.0.0.1', '17.0.0.1'],
    ['unix:', '17.0.0.1', '17.0.0.1'],
    ['-', '17.0.0.1', '17.0.0.1'],
    [undefined, '17.0.0.1', '17.0.0.1'],
    ['17.0.0.9', '17.9.9.9', '17.0.0.9'],
    ['host.example.com', '17.9.9.9', 'host.example.com'],
    ['10.0.0.5', '17.0.0.1, unknown, 10.0.0.9', '17.0.0.1'],
    ['10.0.0.5', '192.168.1.1, 10.0.0.9', '10.0.0.5'],
    ['10.0.0.5', '-', '10.0.0.5'],
    ['10.0.0.5', undefined, '10.0.0.5'],
    ['17.0.0.1, 10.0.0.9', undefined, '17.0.0.1'],
  ]
  for (const [peer, list, right] of cases) assert.equal(visitorOfRequest(peer, list, TRUSTED), right, `${peer} ${list}`)
})

test('a field is an address, a list, no address, or a text that is reported', () => {
  const cases: Record<string, string | undefined> = {
    '17.0.0.1': '17.0.0.1',
    '::FFFF:17.0.0.1': '::FFFF:17.0.0.1',
    '10.0.0.1': '10.0.0.1',
    '17.0.0.1:52614': '17.0.0.1',
    '17.0.0.1, 10.0.0.1': '17.0.0.1',
    '17.9.9.9, 17.0.0.1, 18.0.0.1': '17.0.0.1',
    '192.168.0.2, 10.0.0.1': '192.168.0.2',
    '-': undefined,
    unknown: undefined,
    'unknown, -': undefined,
    ' ': undefined,
    'acme.com:80': 'acme.com:80',
    '17.0.0.300': '17.0.0.300',
  }
  for (const [field, right] of Object.entries(cases)) assert.equal(visitorInField(field, TRUSTED), right, field)
})

/** The same numbers for the same seed (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}

test('whatever a visitor sends, the address is that of the proxy’s own entry, or none', () => {
  const random = randomOf(7_239)
  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!
  const PARTS = [
    ...['17.9.9.9', 'for=', 'For="', '"', '\\', ',', ';', ' ', '=', '+', '[', ']', ':', '%', '_', '-', 'unknown', '\t'],
    ...['18.0.0.1', '10.0.0.1', '::1', '[2001:db8::9]:1', 'host="', 'é', '\u0000', 'a'],
  ]
  for (let i = 0; i < 20_000; i++) {
    const sent = Array.from({ length: random(12) }, () => pick(PARTS)).join('')
    const real = pick(['17.0.0.1', '17.0.0.1:52614', '[2a00::1]:443', '2a00::1'])
    const plain = readAddress(real)!.text
    assert.equal(clientIn(`${sent}, ${real}`, TRUSTED)?.text, plain, sent)
    const text = sent.replace(/["\\]/g, '\\$&')
    for (const added of [`for="${real}"`, `for="${real}";host="${text}"`, `host="${text}";for="${real}"`]) {
      const found = clientIn(forwardedFor(`${sent}, ${added}`) ?? [], TRUSTED)?.text
      assert.ok(found === undefined || found === plain, `${sent}, ${added}: ${found}`)
      assert.equal(clientIn(forwardedFor(added)!, TRUSTED)?.text, plain, added)
    }
    // Every result is canonical, or the field as it was.
    const field = visitorInField(sent, TRUSTED)
    if (field !== undefined && field !== sent) assert.equal(parseAddress(field)?.text, field)
  }
})

test('long and hostile texts take no time', () => {
  const hostile = ['"', ' ', '[', ':', '1.', 'for="\\', ',', ';', '%', '1:'].flatMap((part) => [
    part.repeat(100_000),
    `for=${part.repeat(3_000)}`,
  ])
  const began = performance.now()
  for (const text of hostile) {
    readAddress(text)
    forwardedFor(text)
    clientIn(text, TRUSTED)
    visitorInField(text)
    visitorOfRequest('10.0.0.1', text)
  }
  assert.ok(performance.now() - began < 2_000)
})
