import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Loaded, LoadSpec } from './loader.ts'

const SCRIPT = fileURLToPath(new URL('load.lua', import.meta.url))
const TICKS_PER_SECOND = 100
const FAILURES = ['connect', 'read', 'write', 'status', 'timeout']

/** Whether wrk is on PATH. */
export function hasWrk(): boolean {
  return spawnSync('wrk', ['-v'], { stdio: 'ignore' }).error === undefined
}

/** @throws Error with the output of wrk when it fails */
export async function wrkLoad(spec: LoadSpec, signal: AbortSignal): Promise<Loaded> {
  const dir = await mkdtemp(join(tmpdir(), 'ipid-bench-wrk-'))
  try {
    const [bodies, keys] = [join(dir, 'bodies'), join(dir, 'keys')]
    await writeFile(bodies, `${spec.bodies.join('\n')}\n`)
    await writeFile(keys, `${spec.keys.join('\n')}\n`)
    const plan = ['-t1', `-c${spec.connections}`, `-d${Math.max(1, Math.round(spec.seconds))}s`, '--timeout', '10s']
    const before = cpuOfEndedChildren()
    const child = spawn('wrk', [...plan, '-s', SCRIPT, spec.url, '--', spec.path, bodies, keys], {
      // Linux schedules by session (sched_autogroup), and the shell's session may have a low priority.
      detached: true,
      signal,
      killSignal: 'SIGKILL',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data))
    await once(child, 'close')
    const numbers = /^RESULT (.*)$/m.exec(said)?.[1]?.split(' ').map(Number)
    if (numbers === undefined) throw new Error(`wrk: ${said.trim()}`)
    const [requests, micros, p50, p99, ...failed] = numbers as [number, number, number, number]
    const failures = (failed as number[]).map((count, i) => [FAILURES[i]!, count] as const).filter(([, n]) => n > 0)
    return {
      requests,
      failures: Object.fromEntries(failures),
      seconds: micros / 1e6,
      p50Ms: p50 / 1_000,
      p99Ms: p99 / 1_000,
      cpuSeconds: cpuOfEndedChildren() - before,
    }
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** CPU of all ended children of this process, seconds; 0 without /proc. */
function cpuOfEndedChildren(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND
  } catch {
    return 0
  }
}
