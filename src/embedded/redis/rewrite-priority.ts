import { type FSWatcher, readFileSync, watch } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { poll } from '../../runner/loop.ts'

const MANIFEST = 'appendonly.aof.manifest'
/** As of `nice`. A thirtieth of Redis' own share where nothing is idle, so that it comes to an end there, too. */
const REWRITE_NICE = 15
const LOOK_EVERY_MS = 5
const LOOKS_MS = 500

export interface RewritePriorityOptions {
  /** Of Redis. */
  readonly pid: number
  /** Folder of the manifest, which is replaced as each rewrite begins. */
  readonly dir: string
  readonly log: Pick<Logger, 'debug'>
}

/**
 * Lowers the priority of each process with which Redis writes its append-only file anew: that takes a core as long as it lasts,
 * and all who are waiting for Redis waited for it. Nothing happens where the system does not tell the children of a process.
 */
export function lowerRewrites({ pid, dir, log }: RewritePriorityOptions): { stop(): void } {
  const abort = new AbortController()
  let isLooking = false
  let lowered: number | undefined
  let watcher: FSWatcher | undefined
  const lowerNext = async () => {
    if (isLooking) return
    isLooking = true
    const deadlineMs = performance.now() + LOOKS_MS
    const look = async () => childrenOf(pid).find((child) => child !== lowered)
    const child = await poll(look, { everyMs: LOOK_EVERY_MS, deadlineMs, signal: abort.signal })
    isLooking = false
    if (child === undefined) return
    lowered = child
    setPriority(child, REWRITE_NICE)
  }
  // The folder would tell of each write to the file.
  const watchNext = () => {
    if (abort.signal.aborted) return
    const failed = (error: unknown) => log.debug({ err: error, dir }, 'rewrites keep the priority of Redis')
    try {
      watcher = watch(join(dir, MANIFEST), { persistent: false })
      watcher.on('error', failed)
      watcher.once('change', () => {
        watcher?.close()
        watchNext()
        lowerNext().catch((error) => log.debug({ err: error }, 'a rewrite has ended already'))
      })
    } catch (error) {
      failed(error)
    }
  }
  watchNext()
  return {
    stop: () => {
      abort.abort()
      watcher?.close()
    },
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}
