import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Role, readConfig } from '../../../src/config/config.ts'
import { keyIdOfText, SecretBox } from '../../../src/secrets/secret-box.ts'
import { followed } from '../../../src/terminal/instance.ts'

const [KEY, OTHER] = ['01'.repeat(32), '02'.repeat(32)]
const ADDRESSES = { redis_url: 'redis://r', clickhouse_url: '', pid: 1 }

/** Encrypts a secret as a command beside an instance. @returns the error, or '' */
function sealed(
  t: TestContext,
  command: string | undefined,
  instance: string | undefined,
  roles: Role[] = ['ingress'],
) {
  const dataDir = mkdtempSync(join(tmpdir(), 'ipid-seal-'))
  t.after(() => rmSync(dataDir, { recursive: true }))
  const started =
    instance === undefined
      ? { given: [], roles }
      : { given: ['secretsKey'] as const, roles, secretsKeyId: keyIdOfText(instance) }
  const config = readConfig({ DATA_DIR: dataDir, ...(command !== undefined && { SECRETS_KEY: command }) })
  try {
    new SecretBox(followed(config, { ...ADDRESSES, started })).seal('secret', 'owner')
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

test('a command encrypts with the key of the running instance only', (t) => {
  assert.equal(sealed(t, KEY, KEY), '')
  assert.equal(sealed(t, undefined, undefined), '')
  assert.match(
    sealed(t, undefined, KEY),
    /has a SECRETS_KEY and this command has none, .*give the command the same SECRETS_KEY/,
  )
  assert.match(sealed(t, OTHER, KEY), /^SECRETS_KEY is key \w{8}, and that of the running ipid is key \w{8}, /)
  assert.match(sealed(t, KEY, undefined), /has the key in .*secrets\.key, .*unset SECRETS_KEY for this command$/)
})

test('beside roles that read no secrets, a command needs SECRETS_KEY', (t) => {
  assert.match(
    sealed(t, undefined, undefined, ['process', 'archive']),
    /has only process, archive, which read no secrets/,
  )
  assert.equal(sealed(t, KEY, undefined, ['process']), '')
})
