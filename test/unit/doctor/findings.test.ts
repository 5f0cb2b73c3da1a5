import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { optional, secret } from '../../../src/config/setting.ts'
import { SETTINGS } from '../../../src/config/settings.ts'
import { clockFinding } from '../../../src/operations/doctor/clocks.ts'
import { findingsOf } from '../../../src/operations/doctor/finding.ts'
import { runChecks, SkippedError } from '../../../src/operations/doctor/run-checks.ts'
import { secretRemover, secretTextsOf } from '../../../src/operations/doctor/without-secrets.ts'

test('a check that never ends, fails or has nothing to look at does not stop the others', async () => {
  const { fine } = findingsOf('good')
  const found = await runChecks(
    [
      { name: 'silent', run: () => new Promise(() => {}) },
      { name: 'broken', run: () => assert.fail('oh no') },
      {
        name: 'skipped',
        run: () => {
          throw new SkippedError('nothing there')
        },
      },
      { name: 'good', run: () => [fine('it works')] },
    ],
    20,
  )
  const shown = found.map(({ check, level, seen }) => [check, level, seen])
  assert.deepEqual(shown, [
    ['silent', 'risk', 'could not be judged: no result within 0.02 s'],
    ['broken', 'risk', 'could not be judged: oh no'],
    ['good', 'fine', 'it works'],
  ])
})

test('clocks: two seconds apart are a risk, twenty a problem', () => {
  const levels = [0, 1_999, -2_000, 19_999, -20_000].map((ms) => clockFinding('Redis', ms).level)
  assert.deepEqual(levels, ['fine', 'fine', 'risk', 'risk', 'problem'])
  assert.match(clockFinding('Redis', -60_000).seen, /^the clock of Redis is 1 min behind this machine's$/)
})

test('secrets of the environment and of addresses are removed from the text of a library', () => {
  const env = {
    AWS_SECRET_ACCESS_KEY: 'aws/secret+1',
    SECRETS_KEY: 'ab'.repeat(32),
    REDIS_URL: 'redis-sentinel://u:p%40ss@h/m?sentinelPassword=watch5',
    CLICKHOUSE_URL: 'http://ipid:not/encoded@host:8123',
    SMTP_URL: 'smtp://a:mail5@h',
    PORT: '8080',
  }
  const { problem } = findingsOf('x')
  const texts = [...Object.values(env), 'p@ss', 'deep5', 'PORT 8080'].join(' ')
  const { seen, remedy } = secretRemover(env, ['redis://:deep5@h'])(problem(texts, 'why', texts))
  for (const secret of ['aws/secret', 'abab', 'p%40ss', 'p@ss', 'watch5', 'not/encoded', 'mail5', 'deep5']) {
    assert.ok(!`${seen}${remedy}`.includes(secret), secret)
  }
  assert.match(seen, /PORT 8080/)
})

test('secrets of files and flags are removed too, of settings of the pipeline as well', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-findings-'))
  t.after(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'redis'), 'redis://:file-pass@h:1\n')
  writeFileSync(join(dir, 'token'), 'own-token\n')
  const settings = [...Object.values(SETTINGS), secret(optional('OWN_TOKEN', 'x', 'a token', String))]
  const env = { REDIS_URL_FILE: join(dir, 'redis'), OWN_TOKEN_FILE: join(dir, 'token') }
  const read = {
    CLICKHOUSE_HOSTS: ['http://u:flag-pass@h:1', 'http://u:other-pass@i:1'],
    OIDC_CLIENT_SECRET: 'oidc-pass',
  }
  const secrets = ['file-pass', 'own-token', 'flag-pass', 'other-pass', 'oidc-pass']
  const { whole, urls } = secretTextsOf(settings, env, read)
  const { seen } = secretRemover(env, urls, whole)(findingsOf('x').problem(secrets.join(' '), 'why', 'remedy'))
  assert.equal(seen, secrets.map(() => '***').join(' '))
})
