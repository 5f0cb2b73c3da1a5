import { readFileSync, writeFileSync } from 'node:fs'
import { cpuSeconds, descendants } from '../support/processes.ts'

/** The process that compiles tables after the first start, at low priority. */
export const COMPILER = 'compiler'

/** CPU and memory of a tree of processes since its creation, by name. Linux only. */
export class Accounting {
  readonly #root: number
  readonly #before = new Map<number, number>()
  readonly #beganMs = performance.now()

  /** Starts accounting and resets peaks of memory. @param root root of the tree */
  constructor(root: number) {
    this.#root = root
    for (const { pid } of treeOf(root)) {
      this.#before.set(pid, cpuSeconds(pid))
      forgetPeak(pid)
    }
  }

  /** Elapsed time. */
  get seconds(): number {
    return (performance.now() - this.#beganMs) / 1_000
  }

  /** Seconds of CPU, by name of the process. */
  cpu(): Map<string, number> {
    return sums(
      this.#root,
      (pid) => cpuSeconds(pid) - (this.#before.get(pid) ?? 0),
      (a, b) => a + b,
    )
  }

  /** Peak megabytes by name of the process; the largest if several share a name. */
  peakMb(): Map<string, number> {
    return sums(this.#root, (pid) => statusMb(pid, 'VmHWM'), Math.max)
  }
}

/** Current megabytes, summed by name of the process. Linux only. */
export function memoryMb(root: number): Map<string, number> {
  return sums(
    root,
    (pid) => statusMb(pid, 'VmRSS'),
    (a, b) => a + b,
  )
}

function sums(root: number, read: (pid: number) => number, join: (a: number, b: number) => number) {
  const found = new Map<string, number>()
  for (const { pid, name } of treeOf(root)) found.set(name, join(found.get(name) ?? 0, read(pid)))
  return found
}

function treeOf(root: number): { pid: number; name: string }[] {
  return [
    { pid: root, name: 'main' },
    ...descendants(root).map(({ pid, title }) => ({ pid, name: processName(title) })),
  ]
}

/** @param title a command line, or the title of a process: `ipid ROLE,ROLE` */
export function processName(title: string): string {
  if (title.includes('ipid-leash')) return 'main'
  if (/ db compile\b/.test(title)) return COMPILER
  if (/redis-|valkey-/.test(title)) return 'redis'
  if (/clickhouse/.test(title) && !title.startsWith('ipid ')) return 'clickhouse'
  const roles = /^ipid ([\w,]+)/.exec(title)?.[1]?.split(',') ?? []
  if (roles.includes('ingress')) return 'ingress'
  if (roles.includes('process')) return 'worker'
  return roles[0] ?? 'other'
}

/** Resets the peak memory of a process. */
function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
  } catch {
    // The process has ended or belongs to another user. Its peak then covers its lifetime.
  }
}

function statusMb(pid: number, field: 'VmHWM' | 'VmRSS'): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1')
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) / 1_024
  } catch {
    return 0
  }
}
