import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Redis } from 'ioredis'
import { takePort } from './ports.ts'
import { until } from './until.ts'

/** A cluster of one node: it holds all slots, and refuses commands whose keys are in several slots. */
export async function startCluster(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'ipid-cluster-'))
  const port = takePort()
  const options = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    // A node that never met another one does not know its own address.
    '--cluster-announce-ip',
    '127.0.0.1',
    '--dir',
    dir,
    '--save',
    '',
    '--cluster-enabled',
    'yes',
  ]
  const child = spawn('redis-server', [...options, '--cluster-port', String(takePort())], { stdio: 'ignore' })
  t.after(async () => {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
    await rm(dir, { recursive: true, force: true })
  })
  const client = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 20, maxRetriesPerRequest: null })
  client.on('error', () => {})
  await client.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383)
  await until(async () => String(await client.call('CLUSTER', 'INFO')).includes('cluster_state:ok'))
  client.disconnect()
  return `redis-cluster://127.0.0.1:${port}`
}
