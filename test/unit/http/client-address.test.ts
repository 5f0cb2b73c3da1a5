import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientAddress, trustedProxies } from '../../../src/http/engine/client-address.ts'
import { type HeaderLines, readHead } from '../../../src/http/engine/head.ts'

const TRUSTED = trustedProxies(['127.0.0.0/8', '10.0.0.0/8'])

function linesOf(headers: Readonly<Record<string, string>>): HeaderLines {
  return {
    forEach(line) {
      for (const [name, value] of Object.entries(headers)) line(name, value)
    },
  }
}

function addressOf(peer: string, headers: Readonly<Record<string, string>>): string {
  return clientAddress(peer, readHead(linesOf(headers)), TRUSTED)
}

test('only a trusted proxy can name the client of a request', () => {
  assert.equal(addressOf('127.0.0.1', { 'x-forwarded-for': '17.0.0.1' }), '17.0.0.1')
  assert.equal(addressOf('127.0.0.1', { forwarded: 'for="[2001:db8::1]:443";proto=https' }), '2001:db8::1')
  assert.equal(addressOf('127.0.0.1', { 'cf-connecting-ip': '17.0.0.1' }), '17.0.0.1')
  assert.equal(addressOf('18.0.0.1', { 'x-forwarded-for': '17.0.0.1', 'cf-connecting-ip': '17.0.0.2' }), '18.0.0.1')
})

test('a client behind a trusted proxy cannot choose its address', () => {
  // The proxy appends the address that it sees.
  assert.equal(addressOf('127.0.0.1', { 'x-forwarded-for': '17.0.0.1, 18.0.0.1' }), '18.0.0.1')
  assert.equal(addressOf('127.0.0.1', { 'x-forwarded-for': '17.0.0.1, 18.0.0.1, 10.0.0.7' }), '18.0.0.1')
  // It passes headers on that it does not know.
  const forged = { forwarded: 'for=17.0.0.1', 'cf-connecting-ip': '17.0.0.1' }
  assert.equal(addressOf('127.0.0.1', { ...forged, 'x-forwarded-for': '18.0.0.1' }), '18.0.0.1')
  assert.equal(addressOf('127.0.0.1', { 'x-forwarded-for': 'nonsense' }), '127.0.0.1')
})
