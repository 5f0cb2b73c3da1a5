import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { commandLine } from '../support/processes.ts'
import { TestSite } from '../support/site.ts'

const KEY = 'ab12cd34'.repeat(8)
const SECRETS = {
  SECRETS_KEY: KEY,
  SMTP_URL: 'smtp://me:mail-hunter@127.0.0.1:1',
  AWS_SECRET_ACCESS_KEY: 'aws-hunter',
  AWS_ACCESS_KEY_ID: 'id-hunter',
}

/** Writable memory of a process that has a text of one-byte characters. */
function hasInMemory(pid: number, text: string): boolean {
  const wanted = Buffer.from(text)
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  try {
    return readFileSync(`/proc/${pid}/maps`, 'latin1')
      .split('\n')
      .filter((line) => /^\S+ rw/.test(line))
      .some((line) => {
        const [from, to] = line
          .split(' ')[0]!
          .split('-')
          .map((place) => Number.parseInt(place, 16)) as [number, number]
        const bytes = Buffer.alloc(to - from)
        try {
          readSync(memory, bytes, 0, bytes.length, from)
        } catch {
          // Some mappings of the kernel cannot be read.
          return false
        }
        return bytes.includes(wanted)
      })
  } finally {
    closeSync(memory)
  }
}

test('a process has only the secrets that its roles use, in its environment and its memory', async (t) => {
  const site = new TestSite(t, { ...SECRETS, AWS_SECRET_ACCESS_KEY_FILE: '/nothing', WEBHOOK_PRIVATE: 'on' })
  const started = site.start(['--roles', 'ingress,process'])
  await started.ready()
  const pidOf = (title: string) => {
    const pid = site.processes().find((found) => commandLine(found).startsWith(title))
    assert.ok(pid !== undefined, title)
    return pid
  }
  const [ingress, worker] = [pidOf('ipid ingress'), pidOf('ipid process')]
  const secretsIn = (has: (text: string) => boolean) =>
    Object.entries(SECRETS)
      .flatMap(([name, value]) => (has(value) ? [name] : []))
      .sort()
  const variables = (pid: number) => readFileSync(`/proc/${pid}/environ`, 'utf8')
  assert.ok(variables(worker).includes(`DATA_DIR=${site.dir}`))
  const aws = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']
  assert.deepEqual(
    secretsIn((text) => variables(worker).includes(text)),
    [],
  )
  assert.deepEqual(
    secretsIn((text) => variables(ingress).includes(text)),
    aws,
  )
  // What a process was sent is in its memory.
  assert.deepEqual(
    secretsIn((text) => hasInMemory(worker, text)),
    [],
  )
  assert.deepEqual(
    secretsIn((text) => hasInMemory(ingress, text)),
    [...aws, 'SECRETS_KEY'],
  )
  assert.match(
    started.stderr(),
    /AWS_SECRET_ACCESS_KEY_FILE is set, which is no setting of ipid: .*AWS_SHARED_CREDENTIALS/,
  )

  assert.equal((await site.ipid('tenant', 'create', 'acme', '--plan', 'growth')).code, 0)
  const create = (name: string) =>
    site.ipid('alert', 'create', 'acme', name, '--on', 'company.first_seen', '--webhook', 'http://127.0.0.1:9/x')
  delete site.env.SECRETS_KEY
  const refused = await create('one')
  assert.match(refused.stderr, /the running ipid has a SECRETS_KEY and this command has none/)
  assert.equal(refused.code, 1)
  const drain = ['source', 'create', 'acme', 'http', '--preset', 'vercel', '--secret']
  site.env.VERCEL_DRAIN_SECRET = 'hush'
  assert.match((await site.ipid(...drain)).stderr, /the running ipid has a SECRETS_KEY and this command has none/)
  site.env.SECRETS_KEY_FILE = join(dirname(site.dir), 'key')
  writeFileSync(site.env.SECRETS_KEY_FILE, `${KEY}\n`, { mode: 0o600 })
  assert.equal((await create('one')).stderr, '')
  assert.equal((await site.ipid(...drain)).code, 0)
})
