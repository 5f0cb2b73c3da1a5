import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientAddress } from '../../../src/http/engine/client-address.ts'
import { type HeaderLines, readHead } from '../../../src/http/engine/head.ts'
import { trustedProxies, trustedProxiesSetting } from '../../../src/http/engine/trusted-proxies.ts'

type Headers = Readonly<Record<string, string | readonly string[]>>

function linesOf(headers: Headers): HeaderLines {
  return {
    forEach(line) {
      for (const [name, values] of Object.entries(headers)) for (const value of [values].flat()) line(name, value)
    },
  }
}

/** @param trusted as in `TRUSTED_PROXIES` */
function clientsOf(
  trusted: string,
  cases: readonly (readonly [peer: string, headers: Headers, right: string])[],
): void {
  const proxies = trustedProxies(trusted.split(','))
  for (const [peer, headers, right] of cases) {
    const found = clientAddress(peer, readHead(linesOf(headers)), proxies)
    assert.equal(found, right, `${peer} ${JSON.stringify(headers)}`)
  }
}

test('only a trusted proxy can name the client of a request', () => {
  clientsOf('127.0.0.0/8,10.0.0.0/8', [
    ['127.0.0.1', { 'x-forwarded-for': '17.0.0.1' }, '17.0.0.1'],
    ['127.0.0.1', { 'x-forwarded-for': '17.0.0.1,' }, '17.0.0.1'],
    ['127.0.0.1', { forwarded: 'for="[2001:db8::1]:443";proto=https' }, '2001:db8::1'],
    ['127.0.0.1', { forwarded: 'for=17.0.0.1;host="x, for=17.9.9.9"' }, '17.0.0.1'],
    ['127.0.0.1', { forwarded: 'host="a;for=17.9.9.9;b";for=17.0.0.1' }, '17.0.0.1'],
    ['127.0.0.1', { forwarded: 'for="17.0.0.1:_gazonk"' }, '17.0.0.1'],
    ['127.0.0.1', { 'x-real-ip': '17.0.0.1' }, '17.0.0.1'],
    ['127.0.0.1', { 'true-client-ip': '17.0.0.1' }, '17.0.0.1'],
    ['127.0.0.1', { 'fly-client-ip': '2001:db8::1' }, '2001:db8::1'],
    ['127.0.0.1', { 'fastly-client-ip': '17.0.0.1' }, '17.0.0.1'],
    ['127.0.0.1', { 'cf-connecting-ip': '17.0.0.1' }, '17.0.0.1'],
    ['127.0.0.1', { 'cloudfront-viewer-address': '17.0.0.1:46532' }, '17.0.0.1'],
    ['127.0.0.1', { 'cloudfront-viewer-address': '2001:db8::1:443' }, '2001:db8::1'],
    ['::ffff:127.0.0.1', { 'x-real-ip': '17.0.0.1' }, '17.0.0.1'],
    ['18.0.0.1', { 'x-forwarded-for': '17.0.0.1', 'cf-connecting-ip': '17.0.0.2' }, '18.0.0.1'],
    ['18.0.0.1', { 'x-real-ip': '17.0.0.1', forwarded: 'for=17.0.0.1' }, '18.0.0.1'],
  ])
})

test('a client behind a trusted proxy cannot choose its address', () => {
  const forged = { forwarded: 'for=17.9.9.9', 'cf-connecting-ip': '17.9.9.9', 'x-real-ip': '17.9.9.9' }
  clientsOf('127.0.0.0/8,10.0.0.0/8', [
    // The proxy appends the address that it sees, in the same header or in one more.
    ['127.0.0.1', { 'x-forwarded-for': '17.9.9.9, 18.0.0.1' }, '18.0.0.1'],
    ['127.0.0.1', { 'x-forwarded-for': ['17.9.9.9', '18.0.0.1'] }, '18.0.0.1'],
    ['127.0.0.1', { 'x-forwarded-for': '17.9.9.9, 18.0.0.1, 10.0.0.7' }, '18.0.0.1'],
    ['127.0.0.1', { forwarded: ['for=17.9.9.9', 'for=18.0.0.1'] }, '18.0.0.1'],
    ['127.0.0.1', { forwarded: 'for=17.9.9.9;x=", for=18.0.0.1' }, '127.0.0.1'],
    ['127.0.0.1', { forwarded: 'for=17.9.9.9, proto=https' }, '127.0.0.1'],
    // It passes headers on that it does not know.
    ['127.0.0.1', { ...forged, 'x-forwarded-for': '18.0.0.1' }, '18.0.0.1'],
    ['127.0.0.1', { ...forged, 'x-forwarded-for': 'nonsense' }, '127.0.0.1'],
    // It sets one of these, and the visitor sent the other one, or the same one before it.
    ['127.0.0.1', { 'x-real-ip': '18.0.0.1', 'true-client-ip': '17.9.9.9' }, '127.0.0.1'],
    ['127.0.0.1', { 'x-real-ip': ['17.9.9.9', '18.0.0.1'] }, '127.0.0.1'],
    ['127.0.0.1', { 'x-real-ip': '18.0.0.1', 'true-client-ip': 'nonsense' }, '18.0.0.1'],
    // The second proxy sees the first one.
    ['127.0.0.1', { 'x-real-ip': '10.0.0.7', 'cf-connecting-ip': '18.0.0.1' }, '18.0.0.1'],
  ])
})

test('a proxy with a header of its own is believed in that header only', () => {
  const all = { 'x-forwarded-for': '17.9.9.9', forwarded: 'for=17.9.9.8', 'true-client-ip': '17.9.9.7' }
  clientsOf('10.0.0.0/8,10.1.0.0/16=x-real-ip,172.16.0.0/12=Fly-Client-IP,192.168.0.1=forwarded', [
    ['10.1.0.1', { ...all, 'x-real-ip': '17.0.0.1' }, '17.0.0.1'],
    ['10.1.0.1', all, '10.1.0.1'],
    ['10.2.0.1', { ...all, 'x-real-ip': '17.0.0.1' }, '17.9.9.9'],
    ['172.16.0.9', { 'x-forwarded-for': '17.0.0.1, 66.241.1.1', 'fly-client-ip': '17.0.0.1' }, '17.0.0.1'],
    ['192.168.0.1', all, '17.9.9.8'],
  ])
})

test('TRUSTED_PROXIES takes the names of published ranges', () => {
  clientsOf('127.0.0.1,cloudflare,Fastly,google', [
    ['172.68.10.5', { 'cf-connecting-ip': '17.0.0.1', 'x-forwarded-for': '17.9.9.9' }, '17.0.0.1'],
    ['2606:4700::1', { 'cf-connecting-ip': '2001:db8::1' }, '2001:db8::1'],
    ['172.68.10.5', { 'x-real-ip': '17.9.9.9' }, '172.68.10.5'],
    ['127.0.0.1', { 'x-forwarded-for': '17.0.0.1, 172.68.10.5' }, '17.0.0.1'],
    ['151.101.1.1', { 'x-forwarded-for': '17.0.0.1, 151.101.2.2', 'fastly-client-ip': '17.9.9.9' }, '17.0.0.1'],
    ['35.191.0.9', { 'x-forwarded-for': '17.9.9.9, 17.0.0.1, 34.8.8.8' }, '17.0.0.1'],
    ['17.0.0.9', { 'cf-connecting-ip': '17.9.9.9' }, '17.0.0.9'],
  ])
  clientsOf('fastly=fastly-client-ip', [
    ['151.101.1.1', { 'x-forwarded-for': '17.9.9.9', 'fastly-client-ip': '17.0.0.1' }, '17.0.0.1'],
  ])
})

test('a wrong entry of TRUSTED_PROXIES is answered with what to write', () => {
  const cases: Record<string, RegExp> = {
    'cloudfront,127.0.0.1': /CloudFront.*CLOUDFRONT_ORIGIN_FACING/,
    azure: /Azure Front Door.*AzureFrontDoor\.Backend/,
    akamai: /"akamai" is no network, and none of cloudflare, fastly, google/,
    '10.0.0.0/33': /"10.0.0.0\/33" is no network/,
    '10.0.0.0/8=x-client': /"x-client" is no header.*x-real-ip/,
    '': /"" is no network/,
  }
  for (const [value, reason] of Object.entries(cases)) assert.throws(() => trustedProxiesSetting.read(value), reason)
  assert.deepEqual(trustedProxiesSetting.read('127.0.0.0/8, cloudflare'), ['127.0.0.0/8', 'cloudflare'])
})
