import type { Pipeline } from '../../../pipeline/declaration/pipeline.ts'
import type { Clock } from '../../../run/clock.ts'
import { StartupError, UnavailableError } from '../../../run/errors.ts'
import {
  type ChangeMark,
  partitionsOf,
  readChange,
  removeChange,
  writeChange,
  writePartitions,
} from '../../../stores/redis/change-mark.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { connectedAs } from '../../../stores/redis/other-processes.ts'
import { demandWhole } from '../../../stores/redis/restore-mark.ts'
import { RedisReports } from '../../status/redis/reports.ts'
import { whatIsLeft } from './drained.ts'
import { moveClaims } from './move-claims.ts'
import { moveLetters, removeCopies } from './move-letters.ts'

export interface RaiseOptions {
  readonly pipeline: Pipeline
  readonly clock: Clock
  /** The number of partitions to be. */
  readonly to: number
  /** @throws LeaseLostError when another one may do it */
  readonly assertHeld: () => void
  readonly onProgress: (progress: RaiseProgress) => void
}

export interface RaiseProgress {
  readonly partition: number
  readonly partitions: number
  /** Claims that were moved so far. */
  readonly claims: number
}

export interface Raised {
  readonly from: number
  readonly to: number
  /** Identities of the dedup window that have another partition now. */
  readonly claims: number
  /** Dead letters of which that is true. */
  readonly letters: number
}

/**
 * Raises the number of partitions of a service that is drained and stopped. What is kept by identity moves: claims of the
 * dedup window, and dead letters. Everything else is summed over the partitions, or in none: counters, progress of ended jobs;
 * groups of the new ones are made by the next start. A mark keeps everybody out until all is in its place; killed at any
 * moment and called again, it goes on.
 * @throws StartupError when somebody is connected, something waits, or the number is smaller
 * @throws UnavailableError when it ended on the way
 */
export async function raisePartitions(client: RedisClient, options: RaiseOptions): Promise<Raised> {
  const mark = await begin(client, options)
  if (mark === undefined) return { from: options.to, to: options.to, claims: 0, letters: 0 }
  const { from, to } = mark
  try {
    const claims = await moveAllClaims(client, from, options)
    const letters = await moveLetters(client, { ...options, from, onLetter: options.assertHeld })
    options.assertHeld()
    await writePartitions(client, to, options.clock.now())
    await removeChange(client)
    return { from, to, claims, letters }
  } catch (cause) {
    const { message } = cause as Error
    throw new UnavailableError(`${message}: it is not finished, run "ipid partitions ${to}" again`, { cause })
  }
}

/** Returns what is to be done; undefined when there are that many already. */
async function begin(client: RedisClient, options: RaiseOptions): Promise<ChangeMark | undefined> {
  const { to } = options
  const before = await readChange(client)
  if (before?.moving) {
    if (before.to !== to) {
      throw new StartupError(
        `the change to ${before.to} partitions was not finished: run "ipid partitions ${before.to}"`,
      )
    }
    await demandNobody(client, options)
    return before
  }
  // Of one that was killed before it moved anything.
  await removeChange(client)
  await demandWhole(client)
  const from = await partitionsOf(client)
  if (from === 0) throw new StartupError(`no ipid has run on this Redis: start it with PARTITIONS=${to}`)
  if (from > to) throw new StartupError(`this Redis holds ${from} partitions, and they cannot become fewer`)
  if (from === to) return undefined
  // Whoever starts from here on sees it; who has started before is connected.
  await writeChange(client, { from, to, moving: false })
  try {
    await demandNobody(client, options)
    await demandDrained(client, options, from)
  } catch (error) {
    await removeChange(client)
    throw error
  }
  await removeCopies(client, to)
  const mark = { from, to, moving: true }
  await writeChange(client, mark)
  return mark
}

async function demandDrained(client: RedisClient, { pipeline }: RaiseOptions, partitions: number): Promise<void> {
  const left = await whatIsLeft(client, pipeline, partitions)
  if (left.length === 0) return
  throw new StartupError(
    `not everything is done: ${left.join('; ')}. Start ipid with PARTITIONS=${partitions}, send it nothing until "ipid status" shows that nothing waits, stop it and run this again`,
  )
}

/** Who runs would go on by the number that it knows. */
async function demandNobody(client: RedisClient, { clock }: RaiseOptions): Promise<void> {
  const other = await connectedAs(client)
  if (other !== undefined) throw new StartupError(`an ipid is connected to this Redis (as ${other}): stop it first`)
  // One may be cut off from Redis for a moment.
  const [report] = await new RedisReports(client, clock).read()
  if (report === undefined) return
  const { pid, host } = report.process
  throw new StartupError(
    `process ${pid} on ${host} told of itself a moment ago: stop it first; if it was killed, wait 20 s and run this again`,
  )
}

async function moveAllClaims(client: RedisClient, from: number, options: RaiseOptions): Promise<number> {
  const { pipeline, clock, to, assertHeld, onProgress } = options
  const place = { partitions: to, windowMs: pipeline.limits.dedupWindowMs, nowMs: clock.now() }
  let claims = 0
  for (let partition = 0; partition < from; partition++) {
    const onStep = (more: number) => {
      assertHeld()
      claims += more
      onProgress({ partition, partitions: from, claims })
    }
    await moveClaims(client, { ...place, partition, onStep })
  }
  return claims
}
