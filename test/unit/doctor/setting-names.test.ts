import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SETTINGS } from '../../../src/config/settings.ts'
import { misspelt, variablesOf } from '../../../src/operations/doctor/settings.ts'

const VARIABLES = variablesOf(Object.values(SETTINGS))

function found(env: Record<string, string>): string[] {
  return misspelt(env, VARIABLES).map(({ level, seen, remedy }) => `${level}: ${seen} → ${remedy}`)
}

test('a slip in the name of a setting is a problem that names the setting', () => {
  const slips = {
    DATA_DRI: 'DATA_DIR',
    RETENTON_DAYS: 'RETENTION_DAYS',
    REDIS_MAXMEMORY: 'REDIS_MAX_MEMORY',
    backup_url: 'BACKUP_URL',
  }
  for (const [name, meant] of Object.entries(slips)) {
    assert.deepEqual(found({ [name]: 'x' }), [
      `problem: ${name} is set, which is no setting; ${meant} is one → rename it to ${meant}, or unset ${name}`,
    ])
  }
})

test('a slip beside the right name is a risk', () => {
  assert.deepEqual(found({ DATADIR: 'x', DATA_DIR: 'y' }), [
    'risk: DATADIR is set, which is no setting; DATA_DIR is one → unset DATADIR',
  ])
})

test('another name that begins like a setting is a risk', () => {
  const [risk, ...rest] = found({ REDIS_PASSWORD: 'hunter22' })
  assert.match(risk!, /^risk: REDIS_PASSWORD is set.* → put it into REDIS_URL;/)
  assert.deepEqual(rest, [])
})

test('names of other programs, of services, of settings, and empty ones are fine', () => {
  const names = [
    'PATH',
    'HOSTNAME',
    'POST',
    'LANG',
    'AWS_ACCESS_KEY_ID',
    'IPID_API_KEY',
    'NODE_OPTIONS',
    'REDISCLI_AUTH',
  ]
  const services = ['REDIS_SERVICE_HOST', 'REDIS_PORT_6379_TCP_ADDR', 'CLICKHOUSE_PORT_8123_TCP']
  const env = Object.fromEntries([...names, ...services, ...VARIABLES].map((name) => [name, 'x']))
  assert.deepEqual(found({ ...env, DATA_DIRR: '' }), [])
})

test('a variable for a file that nothing reads is a risk, and one for a secret is fine', () => {
  const files = ['REDIS_URL_FILE', 'SMTP_URL_FILE', 'SECRETS_KEY_FILE', 'PLANS_FILE', 'AWS_SHARED_CREDENTIALS_FILE']
  assert.deepEqual(found(Object.fromEntries(files.map((name) => [name, '/x']))), [])
  const [aws, port, ...rest] = found({ AWS_SECRET_ACCESS_KEY_FILE: '/x', PORT_FILE: '/x' })
  assert.match(aws!, /^risk: AWS_SECRET_ACCESS_KEY_FILE is set, .* → name a file .* with AWS_SHARED_CREDENTIALS_FILE;/)
  assert.match(port!, /^risk: PORT_FILE is set, .* → set PORT itself;/)
  assert.deepEqual(rest, [])
  assert.deepEqual(found({ SECRET_KEY_FILE: '/x' }), [
    'problem: SECRET_KEY_FILE is set, which is no setting; SECRETS_KEY_FILE is one → rename it to SECRETS_KEY_FILE, or unset SECRET_KEY_FILE',
  ])
  assert.match(found({ REDIS_PASSWORD_FILE: '/x' })[0]!, /the whole address into the file of REDIS_URL_FILE/)
})
