import { once } from 'node:events'
import { readFileSync, watch } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { poll } from '../../../run/loop.ts'
import { APPEND_ONLY_MANIFEST } from './append-only-file.ts'

/** A `nice` value. On a busy machine a rewrite gets a thirtieth of Redis' share, so it still ends. */
const REWRITE_NICE = 15
const LOOK_EVERY_MS = 5
const LOOKS_MS = 500

interface RewritePriorityOptions {
  /** Process id of Redis. */
  readonly pid: number
  /** Folder of the manifest, which Redis replaces when a rewrite begins. */
  readonly dir: string
  readonly log: Pick<Logger, 'debug'>
}

/**
 * Lowers the priority of the child processes that rewrite Redis' append-only file. A rewrite takes a whole core, and slows down requests
 * otherwise. Does nothing on systems that do not list the children of a process.
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
      lower().catch((error) => log.debug({ err: error }, 'the rewrite has ended already'))
    }
  }
  follow().catch((error) => {
    if (!signal.aborted)
      log.debug({ err: error, dir }, 'cannot watch the manifest: rewrites keep the priority of Redis')
  })
  return { stop: () => abort.abort() }
}

/** Resolves when the file is replaced. Watching the folder would wake up at every write to any of its files. */
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
