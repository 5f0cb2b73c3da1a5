import { execFile } from 'node:child_process'
import { delimiter } from 'node:path'
import { promisify } from 'node:util'
import type { Bound, Stage } from '../run/scenario.ts'
import { startOwnRedis } from './own-redis.ts'

const PIPELINE = 64
const CONNECTIONS = 4
const ADDS_PER_SECOND = 60_000

/** `redis-benchmark`: one XADD per event, pipelined. Undefined if the program is not on PATH. @param bytes size of an event */
export async function xaddBound(stage: Stage, bytes: number, seconds: number): Promise<Bound | undefined> {
  const redis = await startOwnRedis(stage.releases)
  try {
    const count = Math.ceil(ADDS_PER_SECOND * seconds)
    const how = ['-s', redis.socket, '--csv', '-P', `${PIPELINE}`, '-c', `${CONNECTIONS}`, '-n', `${count}`]
    const path = [process.env.PATH, redis.programs].join(delimiter)
    const event = 'x'.repeat(Math.max(1, Math.round(bytes)))
    const { stdout } = await promisify(execFile)('redis-benchmark', [...how, 'XADD', 'events', '*', 'event', event], {
      env: { ...process.env, PATH: path },
    })
    const rate = Number(/^"XADD[^"]*","([\d.]+)"/m.exec(stdout)?.[1])
    if (!(rate > 0)) throw new Error(`redis-benchmark: ${stdout}`)
    return { name: 'redis-benchmark XADD', figure: 'events/s', value: rate }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    stage.say('redis-benchmark is not on PATH: skipping its bound')
    return undefined
  } finally {
    await redis.stop()
  }
}
