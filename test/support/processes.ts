import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** How long a condition may take on a busy machine before it counts as never coming. */
const WITHIN_MS = 90_000

/** Waits until `check` gives something true, and returns it. Fails with what it saw last when that does not come. */
export async function until<T>(check: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = performance.now() + WITHIN_MS
  for (;;) {
    const found = await check()
    if (found) return found
    if (performance.now() > deadline) throw new Error(`not true within ${WITHIN_MS} ms: ${check}`)
    await sleep(20)
  }
}

/** Whether a process is there; one that has ended and was not waited for is not. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

/** Processes, of those that run now, whose command line, folder or variables name `text`. Linux only. */
export function processesNaming(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => isAlive(pid) && namesText(pid, text))
}

function namesText(pid: number, text: string): boolean {
  return ['cmdline', 'environ'].some((file) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'latin1').includes(text)
    } catch {
      return false
    }
  })
}
