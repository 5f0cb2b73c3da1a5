import { readdirSync, readFileSync } from 'node:fs'

/** A descendant of a process. */
export interface ChildProcessInfo {
  readonly pid: number
  /** Its command line, or its process title. */
  readonly title: string
}

/** All descendants of a process. Linux only. */
export function descendants(pid: number): ChildProcessInfo[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = read(`/proc/${name}/stat`)
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    if (stat !== '') parents.set(Number(name), parent)
  }
  const found: ChildProcessInfo[] = []
  const below = new Set([pid])
  for (let grown = true; grown; ) {
    grown = false
    for (const [child, parent] of parents) {
      if (below.has(child) || !below.has(parent)) continue
      below.add(child)
      grown = true
      found.push({ pid: child, title: read(`/proc/${child}/cmdline`).replaceAll('\0', ' ').trim() })
    }
  }
  return found
}

/** Resident memory, megabytes; 0 when the process has ended. */
export function residentMb(pid: number): number {
  const pages = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))
  return pages === null ? 0 : Number(pages[1]) / 1_024
}

const TICKS_PER_SECOND = 100

/** CPU time of a process, seconds; 0 when it has ended. */
export function cpuSeconds(pid: number): number {
  const stat = read(`/proc/${pid}/stat`)
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return stat === '' ? 0 : (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
