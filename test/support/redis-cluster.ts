import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Redis, type RedisOptions } from 'ioredis'
import { selfSigned } from './certificate.ts'
import { takePort } from './ports.ts'
import { until } from './until.ts'

const SECRET = ['--requirepass', 'p@ss']

/** A cluster of one node with a password: it holds all slots, and refuses commands whose keys are in several slots. @returns its URL */
export async function startCluster(t: TestContext): Promise<string> {
  const dir = await folderOf(t)
  const port = takePort()
  await startNode(t, dir, ['--port', String(port), ...SECRET], { port, password: 'p@ss' })
  return `redis-cluster://:p%40ss@127.0.0.1:${port}`
}

/** One that speaks TLS only. @returns the URL, and the file of its certificate authority */
export async function startSecretCluster(t: TestContext): Promise<{ url: string; authority: string }> {
  const dir = await folderOf(t)
  const port = takePort()
  const { key, certificate } = await selfSigned(dir)
  const tls = ['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no', '--tls-cluster', 'yes']
  const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate]
  const args = [...tls, ...files, ...SECRET]
  await startNode(t, dir, args, { port, password: 'p@ss', tls: { ca: readFileSync(certificate) } })
  return { url: `rediss-cluster://:p%40ss@127.0.0.1:${port}`, authority: certificate }
}

async function folderOf(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'ipid-cluster-'))
  t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}

async function startNode(t: TestContext, dir: string, args: readonly string[], options: RedisOptions): Promise<void> {
  const own = ['--bind', '127.0.0.1', '--dir', dir, '--save', '', '--cluster-enabled', 'yes']
  // A node that never met another one does not know its own address.
  const addresses = ['--cluster-announce-ip', '127.0.0.1', '--cluster-port', String(takePort())]
  const child = spawn('redis-server', [...args, ...own, ...addresses], { stdio: 'ignore' })
  t.after(async () => {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  })
  const client = new Redis({ host: '127.0.0.1', retryStrategy: () => 20, maxRetriesPerRequest: null, ...options })
  client.on('error', () => {})
  await client.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383)
  await until(async () => String(await client.call('CLUSTER', 'INFO')).includes('cluster_state:ok'))
  client.disconnect()
}
