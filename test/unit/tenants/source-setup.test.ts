import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../../pipelines/ingest.ts'
import { baseWarning, setupOf, setupText } from '../../../src/tenants/sources/setup.ts'

const BASE = 'https://ipid.example.com'
const KEY = `src_${'a'.repeat(40)}`
const BROWSER_KEY = `pub_${'a'.repeat(7)}${'b'.repeat(33)}`
const tools = ingest.sources.flatMap(({ from: { name, tool } }) => (tool === undefined ? [] : [{ name, tool }]))

const setup = ({ name, tool }: (typeof tools)[number], key?: string) => {
  const keys = tool.keys === 'server' || tool.keys === undefined ? {} : { browser_key: BROWSER_KEY }
  const source = { kind: name, address: 'auto', ...keys } as const
  return setupOf(tool, { prefix: 'src_aaaaaaa', source }, BASE, tool.keys === 'browser' ? undefined : key)
}

test('no block but a sample has words that do not run, and no sample has an address or an id that would be valid', () => {
  for (const tool of tools) {
    for (const { title, code, is_sample: isSample } of setup(tool, KEY).blocks) {
      const what = `${tool.name}, ${title}`
      assert.ok(
        !/@(?:example|[a-z]+\.)[a-z.]*['"]/.test(code.replaceAll(/from '[^']*'/g, '')),
        `${what}: an e-mail address`,
      )
      assert.ok(!/\b\d{1,3}(?:\.\d{1,3}){3}\b/.test(code), `${what}: an address`)
      if (!isSample) assert.ok(!/^(?:Optional|Node|Browser)/m.test(code), `${what}: prose`)
    }
  }
})

test('blocks with the server key are left out when the key is not known, and each block holds one key', () => {
  for (const tool of tools) {
    for (const { code, key } of setup(tool, KEY).blocks) {
      if (code.includes(KEY)) assert.equal(key, 'server', tool.name)
      if (code.includes(BROWSER_KEY)) assert.equal(key, 'browser', tool.name)
    }
    const again = setupText(setup(tool))
    assert.ok(!again.includes('src_') || again.includes('src_aaaaaaa'), tool.name)
    assert.ok(!again.includes('undefined'), tool.name)
    if (tool.tool.keys === 'both' || tool.tool.keys === 'browser') assert.ok(again.includes(BROWSER_KEY), tool.name)
  }
})

test('an address that only this machine or network reaches has a warning', () => {
  const near = [
    '127.0.0.1:8080',
    '10.1.2.3',
    '192.168.0.2',
    '[::1]:8080',
    '[fd00::1]',
    'localhost',
    'ipid',
    'ipid.local',
    'a.internal',
  ]
  for (const host of near) assert.match(baseWarning(`http://${host}`)!, /such as https:/, host)
  for (const host of ['ipid.example.com', '17.1.2.3', '[2a00:1450::1]'])
    assert.equal(baseWarning(`https://${host}`), undefined)
})
