import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { Redis } from 'ioredis'
import { removeHoles } from '../../src/stores/redis/durability/file-holes.ts'

/** A private redis-server with an append-only file, on a unix socket in its own folder. */
export interface TestRedis {
  /** `unix:///…/redis.sock` */
  readonly url: string
  readonly pid: number
  /** `kill -9`; resolves when the process is gone. */
  kill(): Promise<void>
  /** The folder of the append-only file. */
  readonly dir: string
  /** Pauses the process, and resumes it. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
  /** Starts it again on the same folder; resolves when it answers. */
  restart(): Promise<void>
}

/**
 * Starts one; it is stopped and its folder removed after the test, or after the whole file when no test is given.
 * @param args further arguments of redis-server
 * @param under the parent of its folder
 */
export async function startTestRedis(
  t?: { after(hook: () => Promise<void>): void },
  args: readonly string[] = [],
  under = tmpdir(),
): Promise<TestRedis> {
  const dir = await mkdtemp(join(under, 'ipid-redis-'))
  const socket = join(dir, 'redis.sock')
  let child = await launch(dir, socket, args)
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  const cleanUp = async () => {
    await kill()
    await rm(dir, { recursive: true, force: true })
  }
  if (t) t.after(cleanUp)
  else after(cleanUp)
  return {
    url: `unix://${socket}`,
    dir,
    get pid() {
      return child.pid!
    },
    kill,
    signal: (name) => void child.kill(name),
    async restart() {
      await kill()
      // As the private server starts after a full disk.
      removeHoles(join(dir, 'appendonlydir'))
      child = await launch(dir, socket, args)
    },
  }
}

async function launch(dir: string, socket: string, args: readonly string[]): Promise<ChildProcess> {
  await rm(socket, { force: true })
  const options = ['--port', '0', '--unixsocket', socket, '--dir', dir, '--save', '', '--appendonly', 'yes']
  const child = spawn('redis-server', [...options, '--appendfsync', 'no', ...args], { stdio: 'ignore' })
  const failed = once(child, 'exit').then(() => {
    throw new Error('redis-server ended')
  })
  failed.catch(() => {})
  await Promise.race([answers(socket), failed])
  return child
}

async function answers(socket: string): Promise<void> {
  const client = new Redis({ path: socket, retryStrategy: () => 20, maxRetriesPerRequest: null, lazyConnect: true })
  client.on('error', () => {})
  try {
    client.connect().catch(() => {})
    for (;;) {
      const reply = await client.ping().catch((error: Error) => error.message)
      if (reply === 'PONG') return
    }
  } finally {
    client.disconnect()
  }
}
