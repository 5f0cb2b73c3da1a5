import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCommand } from '../../support/command.ts'

const DAYS = ['--from', '2026-01-01', '--to', '2026-01-02']
const COMMANDS: readonly (readonly [what: string, ...args: string[]])[] = [
  ['an erasure', 'erase', 'acme', '--event', 'a'],
  ['an erasure', 'tenant', 'delete', 'acme', '--yes'],
  ['a replay', 'replay', '--tenant', 'acme', ...DAYS],
  ['a replay', 'replay', '--tenant', 'acme', ...DAYS, '--dry-run'],
  ['a replay', 'replay', '--tenant', 'acme', ...DAYS, '--reenrich'],
  ['a backup', 'backup', join(tmpdir(), 'ipid-no-such-backup')],
  ['a restore', 'restore', join(tmpdir(), 'ipid-no-such-backup')],
]

test('code not made for a cluster refuses its tables before it reads a store, whatever is set', async (t) => {
  const asked: string[] = []
  const clickhouse = createServer(async (request, response) => {
    asked.push(Buffer.concat(await request.toArray()).toString())
    response.end(`["Distributed","Distributed('c1', 'ipid', 'events_local')"]\n`)
  })
  clickhouse.listen(0, '127.0.0.1')
  await once(clickhouse, 'listening')
  t.after(() => clickhouse.close())
  const env = {
    CLICKHOUSE_URL: `http://127.0.0.1:${(clickhouse.address() as AddressInfo).port}`,
    // Callers would fail otherwise.
    REDIS_URL: 'redis://127.0.0.1:1',
    DATA_DIR: join(tmpdir(), 'ipid-no-such-data'),
  }
  for (const [what, ...args] of COMMANDS) {
    for (const cluster of ['c1', '']) {
      asked.length = 0
      const { code, stderr } = await runCommand(args, { env: { ...env, CLICKHOUSE_CLUSTER: cluster } })
      const refusal = `ipid: ${what} does not work with the tables of a ClickHouse cluster ("c1"): nothing was done; `
      assert.equal(stderr.slice(0, refusal.length), refusal, args.join(' '))
      assert.equal(code, 1)
      assert.equal(asked.length, cluster === '' ? 1 : 0)
      assert.equal(
        asked.every((query) => /FROM system\.tables\b/.test(query)),
        true,
      )
    }
  }
})
