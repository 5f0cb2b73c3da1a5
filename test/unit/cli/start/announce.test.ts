import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { announce, keepSecrets, type Ready, readyObject, type SecretFiles } from '../../../../src/cli/start/announce.ts'
import { makeDataDir } from '../../../../src/embedded/processes/data-dir.ts'

const [KEY, TOKEN] = [`ipid_${'a1'.repeat(32)}`, 't'.repeat(43)]
const READY: Ready = {
  instance: {
    ...{ url: 'http://127.0.0.1:8080', pid: 1, dashboard: 'http://127.0.0.1:8081' },
    ...{
      clickhouse_url: 'http://ipid-embedded:halibut@127.0.0.1:8123',
      redis_url: 'redis://:swordfish@127.0.0.1:6379',
    },
    analyst_url: 'http://analyst:swordfish@127.0.0.1:8123',
  },
  created: { tenant_id: 'demo', api_key: KEY },
  metricsUrl: 'http://127.0.0.1:9090/metrics',
  signIn: `http://127.0.0.1:8081/sign-in?token=${TOKEN}`,
}
const SECRETS = new RegExp(`${KEY}|${TOKEN}|swordfish|halibut`)

function printed(files?: SecretFiles, ready = READY): string {
  const out = new PassThrough()
  announce(out, ready, files)
  return String(out.read())
}

test('a terminal gets the secrets, a log gets the names of private files', (t) => {
  const shown = printed()
  assert.ok(shown.includes(KEY) && shown.includes(READY.signIn!) && shown.includes(READY.instance.analyst_url!))
  assert.ok(!shown.includes('halibut'), 'no password of our own processes')
  const dir = mkdtempSync(join(tmpdir(), "ipid it's "))
  t.after(() => rmSync(dir, { recursive: true }))
  const paths = makeDataDir(join(dir, 'data'))
  // An earlier file, which everybody may read.
  writeFileSync(paths.firstKeyFile, 'old', { mode: 0o644 })
  const files = keepSecrets(paths, READY)
  const logged = `${printed(files)}${JSON.stringify(readyObject(READY, files))}`
  assert.doesNotMatch(logged, SECRETS)
  for (const [file, secret] of [
    [files.apiKey!, KEY],
    [files.signIn!, READY.signIn!],
  ] as const) {
    assert.ok(logged.includes(file))
    assert.deepEqual([readFileSync(file, 'utf8'), statSync(file).mode & 0o777], [`${secret}\n`, 0o600])
  }
  const header = /-H ("x-api-key: \$\(cat .*?\)")/.exec(logged)![1]!
  assert.equal(execFileSync('/bin/sh', ['-c', `printf %s ${header}`], { encoding: 'utf8' }), `x-api-key: ${KEY}`)
  assert.match(JSON.stringify(readyObject(READY)), SECRETS, 'the private --ready-file has them')
})

test("a ClickHouse of one's own is shown without its password", () => {
  const { analyst_url: _, ...instance } = READY.instance
  const ready = { ...READY, instance }
  const shown = printed(undefined, ready)
  assert.match(shown, /ClickHouse {3}http:\/\/ipid-embedded:\S*@127\.0\.0\.1:8123\n/)
  assert.doesNotMatch(shown, /halibut|user analyst/)
  assert.match(shown, /\.\/ipid sql 'SELECT \* FROM accounts/)
  assert.equal((readyObject(ready) as { clickhouse_url: string }).clickhouse_url, instance.clickhouse_url)
})
