import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import type { SystemStatus } from '../../src/operations/status/system-status.ts'
import { takePort } from '../support/ports.ts'
import { startTestRedis } from '../support/redis.ts'

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** The program as a user runs it: loading its code takes longer than a refused connection. */
function ipid(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env.PATH, DATA_DIR: '/nonexistent', ...env } }
    execFile(process.execPath, ['src/ipid.mjs', ...args], options, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), stdout, stderr })
    })
  })
}

test('status while ClickHouse refuses connections: its part is unknown, with the reason', async (t) => {
  const redis = await startTestRedis(t)
  const env = { REDIS_URL: redis.url, CLICKHOUSE_URL: `http://127.0.0.1:${takePort()}` }
  for (let times = 0; times < 3; times++) {
    const { stdout, stderr } = await ipid(['status', '--json'], env)
    assert.equal(stderr, '')
    const { unknown, verdict } = JSON.parse(stdout) as SystemStatus
    assert.match(unknown.join(), /\bClickHouse: .*ECONNREFUSED/)
    assert.match(verdict.text, /ClickHouse/)
  }
})
