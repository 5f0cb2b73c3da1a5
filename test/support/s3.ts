import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { takePort } from './ports.ts'

const SCRIPT = fileURLToPath(new URL('./s3-process.mjs', import.meta.url))
const BUCKET = 'events'

/** The environment of a client; it has no other source of credentials. */
export const S3_ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: 'S3RVER',
  AWS_SECRET_ACCESS_KEY: 'S3RVER',
  AWS_EC2_METADATA_DISABLED: 'true',
} as const

/** An S3 server as a separate process, with one bucket. It checks signatures, and keeps objects in a folder. */
export interface TestS3 {
  readonly bucket: string
  /** `http://127.0.0.1:PORT`, the same after a restart. */
  readonly endpoint: string
  /** `kill -9`; resolves when the process is gone. */
  kill(): Promise<void>
  /** Starts it again on the same folder and port. */
  restart(): Promise<void>
}

/** Starts one; it is stopped and its folder removed after the test. */
export async function startTestS3(t: TestContext): Promise<TestS3> {
  const folder = await mkdtemp(join(tmpdir(), 'ipid-s3-'))
  const port = takePort()
  let child = await launch(folder, port)
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  t.after(async () => {
    await kill()
    await rm(folder, { recursive: true, force: true })
  })
  return {
    bucket: BUCKET,
    endpoint: `http://127.0.0.1:${port}`,
    kill,
    async restart() {
      await kill()
      child = await launch(folder, port)
    },
  }
}

async function launch(folder: string, port: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, [SCRIPT, folder, String(port), BUCKET], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit').then(() => {
    throw new Error('the S3 server ended')
  })
  ended.catch(() => {})
  await Promise.race([once(child.stdout, 'data'), ended])
  return child
}
