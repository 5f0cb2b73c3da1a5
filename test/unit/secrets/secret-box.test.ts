import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { StartupError } from '../../../src/run/errors.ts'
import { SecretBox, SecretError } from '../../../src/secrets/secret-box.ts'

const OWNER = 'src_0000001'
const KEY = '01'.repeat(32)

function folder(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-secrets-'))
  t.after(() => rmSync(dir, { recursive: true }))
  return dir
}

test('a secret opens for its owner, and its sealed form does not contain it', (t) => {
  const dataDir = folder(t)
  const sealed = new SecretBox({ dataDir }).seal('gehéim', OWNER)
  assert.match(sealed, /^v1:[0-9a-f]{8}:[\w-]+$/)
  assert.ok(!Buffer.from(sealed.split(':')[2]!, 'base64url').includes('geh'))
  assert.notEqual(new SecretBox({ dataDir }).seal('gehéim', OWNER), sealed)
  // As another process opens it.
  assert.equal(new SecretBox({ dataDir }).open(sealed, OWNER), 'gehéim')
})

test('the first seal creates the key, and only its user may read it', (t) => {
  const dataDir = folder(t)
  const file = join(dataDir, 'secrets.key')
  new SecretBox({ dataDir }).seal('secret', OWNER)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const key = readFileSync(file, 'utf8')
  assert.match(key, /^[0-9a-f]{64}\n$/)
  new SecretBox({ dataDir }).seal('secret', OWNER)
  assert.equal(readFileSync(file, 'utf8'), key)
})

test('SECRETS_KEY replaces the file', (t) => {
  const dataDir = folder(t)
  const sealed = new SecretBox({ dataDir, secretsKey: KEY }).seal('secret', OWNER)
  assert.throws(() => statSync(join(dataDir, 'secrets.key')), { code: 'ENOENT' })
  assert.equal(new SecretBox({ dataDir: folder(t), secretsKey: KEY }).open(sealed, OWNER), 'secret')
})

test('a missing key and another key are named, with their ids and the remedy', (t) => {
  const sealed = new SecretBox({ dataDir: folder(t), secretsKey: KEY }).seal('secret', OWNER)
  const id = sealed.split(':')[1]!
  const elsewhere = new SecretBox({ dataDir: folder(t) })
  assert.throws(
    () => elsewhere.open(sealed, OWNER),
    (error: Error) => error instanceof SecretError && error.message.includes(`under key ${id}, and`),
  )
  elsewhere.seal('other', OWNER)
  assert.throws(
    () => elsewhere.open(sealed, OWNER),
    /is encrypted under key \w{8}, but .*secrets\.key is key \w{8}: set/,
  )
  const other = new SecretBox({ dataDir: folder(t), secretsKey: '02'.repeat(32) })
  assert.throws(() => other.open(sealed, OWNER), /but SECRETS_KEY is key/)
})

test('a key that comes back is read without a restart', (t) => {
  const dataDir = folder(t)
  const box = new SecretBox({ dataDir })
  const sealed = box.seal('secret', OWNER)
  const file = join(dataDir, 'secrets.key')
  const right = readFileSync(file)
  writeFileSync(file, KEY)
  const restarted = new SecretBox({ dataDir })
  assert.throws(() => restarted.open(sealed, OWNER), SecretError)
  writeFileSync(file, right)
  assert.equal(restarted.open(sealed, OWNER), 'secret')
})

test('a changed secret, and a secret of another owner, do not open', (t) => {
  const box = new SecretBox({ dataDir: folder(t), secretsKey: KEY })
  const sealed = box.seal('secret', OWNER)
  assert.throws(() => box.open(sealed, 'src_0000002'), /is damaged: set it again/)
  const [version, id, data] = sealed.split(':') as [string, string, string]
  const bytes = Buffer.from(data, 'base64url')
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at]! ^= 1
    assert.throws(() => box.open(`${version}:${id}:${changed.toString('base64url')}`, OWNER), SecretError)
  }
  for (const text of ['', 'secret', `${version}:${id}:`, `${version}:${id}:AAAA`]) {
    assert.throws(() => box.open(text, OWNER), SecretError, text)
  }
})

test('a key file that others can read, or that is no key, is refused', (t) => {
  const dataDir = folder(t)
  const file = join(dataDir, 'secrets.key')
  writeFileSync(file, KEY)
  chmodSync(file, 0o644)
  assert.throws(() => new SecretBox({ dataDir }).seal('secret', OWNER), /every user can read .*: chmod 600 it/)
  chmodSync(file, 0o600)
  writeFileSync(file, 'no key')
  assert.throws(() => new SecretBox({ dataDir }).seal('secret', OWNER), StartupError)
})
