import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../../pipelines/ingest.ts'
import { readConfig } from '../../../src/config/config.ts'
import { SETTINGS } from '../../../src/config/settings.ts'
import { Cleaner } from '../../../src/operations/support/cleaner.ts'
import { cleanLogLine } from '../../../src/operations/support/log-lines.ts'
import { shownSettings } from '../../../src/operations/support/settings.ts'
import { settingsOf } from '../../../src/pipeline/declaration/pipeline.ts'

/* What an archive of support leaves out, and what it keeps. */

const HEX = '0123456789abcdef'.repeat(4)

const REMOVED: readonly (readonly [text: string, clean: string])[] = [
  ['connect ECONNREFUSED 10.1.2.3:6379', 'connect ECONNREFUSED <address>:6379'],
  ['from 203.0.113.9, then', 'from <address>, then'],
  ['ip=2001:db8::1 is', 'ip=<address> is'],
  ['[2001:db8:0:0:0:0:0:7]:8123', '[<address>]:8123'],
  ['ip:2001:db8::1', 'ip:<address>'],
  ['::ffff:203.0.113.9', '<address>'],
  ['fe80::1%eth0', '<address>%eth0'],
  ['2001:DB8::', '<address>'],
  ['mail to ada.lovelace+x@example.com failed', 'mail to <e-mail> failed'],
  ['to=ada%40example.com', 'to=<e-mail>'],
  [`key ipid_${HEX} and ipid_test_${HEX}`, 'key <key> and <key>'],
  ['key ipid_6b543f3', 'key <key>'],
  [`src_${HEX.slice(0, 40)}`, '<key>'],
  ['https://user:pass-word@clickhouse.example.com:8443/x', 'https://<host>:8443/x'],
  ['redis://:swordfish@127.0.0.1:6379', 'redis://127.0.0.1:6379'],
  ['getaddrinfo ENOTFOUND www.siemens.com', 'getaddrinfo ENOTFOUND <host>'],
  ['s3://acme/x?endpoint=https://minio.acme.io', 's3://<host>/x?endpoint=https://<host>'],
  ['redis-cluster://one:7000,two:7001', 'redis-cluster://<host>'],
  ['getaddrinfo EAI_AGAIN redis-of-acme', 'getaddrinfo EAI_AGAIN <host>'],
  [`token ${'Ab3_-'.repeat(8)}.`, 'token <token>.'],
  ['the password hunter22 is wrong', 'the password <secret> is wrong'],
  ['ENOENT /home/ada/ipid/data', 'ENOENT /home/<user>/ipid/data'],
]

const KEPT = [
  '2026-11-30T12:30:00.000Z at 12:30:00',
  'listens on 127.0.0.1:8080, 0.0.0.0 and ::1',
  'DB::Exception: Code: 241. DB::Exception (MEMORY_LIMIT_EXCEEDED)',
  'at run (src/pipeline/sinks/clickhouse/destination.ts:17:9)',
  'SELECT count() FROM ipid.events, system.query_log WHERE x = ?',
  'ipid_http_requests_total{status="200",process="ingress"} 17',
  'ipid_http_request_duration_seconds_bucket{le="0.005"} 4',
  'job 12818683-17a1-4e9c-a993-a9a5c5dc9538',
  'Node.js 24.11.0, ipid 0.2.0',
  'systemctl status ipid.service',
]

const cleaner = () => new Cleaner(['hunter22'])

for (const [text, clean] of REMOVED) {
  test(`leaves out: ${text.slice(0, 50)}`, () => assert.equal(cleaner().text(text), clean))
}

for (const text of KEPT) test(`keeps: ${text.slice(0, 50)}`, () => assert.equal(cleaner().text(text), text))

test('a name has the same number in every text, and is found as a word only', () => {
  const clean = cleaner()
  assert.deepEqual(clean.json({ tenant_id: 'acme', archived_tenants: ['globex', 'acme'] }), {
    tenant_id: 'tenant-1',
    archived_tenants: ['tenant-2', 'tenant-1'],
  })
  assert.equal(
    clean.text('exports: acme/weekly failed, acmeology did not'),
    'exports: tenant-1/weekly failed, acmeology did not',
  )
})

test('a message keeps its words, and loses what it quotes and the row of a table', () => {
  const message = `Cannot parse "Siemens AG" or 'it\\'s': expected ',' before: 'Bosch GmbH,17': (at row 3)`
  const clean = cleaner().message(message)
  assert.match(clean, /^Cannot parse <quoted> or <quoted>/)
  assert.doesNotMatch(clean, /Siemens|Bosch/)
})

test("a line of the log keeps ipid's own words and numbers, and no other text", () => {
  const line = JSON.stringify({
    ...{ level: 50, time: '2026-11-30T10:00:00.000Z', name: 'sink', rows: 7, business: 'Siemens', tenant_id: 'acme' },
    ...{ err: { type: 'Error', message: 'no "Siemens"', stack: 'Error: no "Siemens"\n    at run (src/a.ts:1:2)' } },
    msg: 'an insert failed',
  })
  assert.deepEqual(JSON.parse(cleanLogLine(`Nov 30 vm ipid[7]: ${line}`, cleaner())), {
    ...{
      level: 50,
      time: '2026-11-30T10:00:00.000Z',
      name: 'sink',
      rows: 7,
      business: '<text>',
      tenant_id: 'tenant-1',
    },
    ...{ err: { type: 'Error', message: 'no <quoted>', stack: '    at run (src/a.ts:1:2)' }, msg: 'an insert failed' },
  })
})

test('settings show whether each is given, and no text that may name a person, a company or a place', () => {
  const env = {
    ...{
      SECRETS_KEY: HEX,
      REDIS_URL: 'redis://:swordfish@10.0.0.1:6379',
      SMTP_URL: 'smtp://ada:swordfish@mail.acme.io',
    },
    ...{ SMTP_FROM: 'Acme <ada@acme.io>', OIDC_NAME: 'Acme', API_URL: 'https://acme.io', DATA_DIR: '/srv/acme' },
    ...{ HOST: '0.0.0.0', LOG_LEVEL: 'debug', PORT: '9000', BACKUP_URL: 's3://acme/x?region=eu' },
  }
  const pipeline = settingsOf(ingest)
  const shown = shownSettings(readConfig(env, {}, undefined, { settings: pipeline }), pipeline)
  const of = (name: string) => shown.find(({ setting }) => setting === name)
  assert.deepEqual(of('PORT'), { setting: 'PORT', given: true, value: 9000 })
  assert.deepEqual(of('LOG_LEVEL'), { setting: 'LOG_LEVEL', given: true, value: 'debug' })
  assert.deepEqual(of('SECRETS_KEY'), { setting: 'SECRETS_KEY', given: true })
  assert.deepEqual(of('OIDC_NAME'), { setting: 'OIDC_NAME', given: true })
  assert.equal(shown.length, Object.keys(SETTINGS).length + pipeline.length)
  assert.doesNotMatch(JSON.stringify(shown), /acme|swordfish|10\.0\.0\.1|0123456789abcdef/i)
})
