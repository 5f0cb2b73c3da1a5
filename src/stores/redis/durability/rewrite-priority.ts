import { once } from 'node:events'
import { readFileSync, watch } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { poll } from '../../../run/loop.ts'
import { APPEND_ONLY_MANIFEST } from './append-only-link.ts'

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
  const { signal } = abort
  const lower = async () => {
    const look = async () => childrenOf(pid)[0]
    const child = await poll(look, { everyMs: LOOK_EVERY_MS, deadlineMs: performance.now() + LOOKS_MS, signal })
    if (child !== undefined) setPriority(child, REWRITE_NICE)
  }
  const follow = async () => {
    while (!signal.aborted) {
      await replaced(join(dir, APPEND_ONLY_MANIFEST), signal)
      lower().catch((error) => log.debug({ err: error }, 'a rewrite has ended already'))
    }
  }
  follow().catch((error) => {
    if (!signal.aborted) log.debug({ err: error, dir }, 'rewrites keep the priority of Redis from now on')
  })
  return { stop: () => abort.abort() }
}

/** Resolves when another file is at its place. The folder would tell of each write to all files in it. */
async function replaced(path: string, signal: AbortSignal): Promise<void> {
  const watcher = watch(path, { persistent: false })
  try {
    await once(watcher, 'change', { signal })
  } finally {
    watcher.close()
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}
