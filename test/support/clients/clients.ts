import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Ipid } from '../../../src/client/typescript/index.ts'
import { onPath } from '../programs.ts'
import { type DriverLine, type DriverTask, endsOf, type FailedEnd } from './task.ts'

const PYTHON_FILE = fileURLToPath(new URL('../../../src/client/python/ipid.py', import.meta.url))
export const PYTHON = onPath(['python3'])

/** How the events of a task ended so far. */
export class Ends {
  readonly taken: boolean[] = []
  readonly delivered: string[] = []
  readonly failed: FailedEnd[] = []

  add({ taken, delivered, failed }: DriverLine): void {
    if (taken !== undefined) this.taken.push(taken)
    if (delivered !== undefined) this.delivered.push(...delivered)
    if (failed !== undefined) this.failed.push(failed)
  }
}

/** A driver that runs as a process of its own. */
export interface RunningDriver {
  readonly child: ChildProcess
  readonly ends: Ends
  /** Resolves with the exit code, after all lines were read; rejects when it printed to standard error. */
  readonly ended: Promise<number | null>
}

/** One of the two clients, for the same tests. */
export interface TestedClient {
  readonly name: 'TypeScript' | 'Python'
  /** The reason why it cannot run here. */
  readonly skip: string | undefined
  /** Runs a task as a process of its own. */
  start(task: DriverTask): RunningDriver
  /** Runs a task to its end. */
  run(task: DriverTask): Promise<Ends>
}

export const CLIENTS: readonly TestedClient[] = [
  {
    name: 'TypeScript',
    skip: undefined,
    start: (task) => {
      const driver = fileURLToPath(new URL('driver.ts', import.meta.url))
      return startDriver(process.execPath, ['--import', 'tsx', driver], task)
    },
    // In this process: a process of its own takes longer to start than most tests.
    async run(task) {
      const ends = new Ends()
      const client = new Ipid({ key: task.key, url: task.url, ...task.options, ...endsOf((line) => ends.add(line)) })
      for (const event of task.events) ends.add({ taken: client.track(event) })
      await client.close({ timeoutMs: task.closeMs })
      return ends
    },
  },
  {
    name: 'Python',
    skip: PYTHON === undefined ? 'there is no python3' : undefined,
    start: startPython,
    async run(task) {
      const { ends, ended } = startPython(task)
      await ended
      return ends
    },
  },
]

/** Runs lines of Python with a client as `client`; returns what they printed. */
export async function runPython(
  { url, key, dir }: { readonly url: string; readonly key: string; readonly dir: string },
  lines: string,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const head = `import os, sys\nsys.path.insert(0, ${JSON.stringify(dirname(PYTHON_FILE))})\nimport ipid\n`
  const code = `${head}client = ipid.Client(${JSON.stringify(key)}, ${JSON.stringify(url)})\n${lines}`
  return await promisify(execFile)(PYTHON!, ['-B', '-c', code], { cwd: dir })
}

function startPython(task: DriverTask): RunningDriver {
  const driver = fileURLToPath(new URL('driver.py', import.meta.url))
  return startDriver(PYTHON!, ['-B', driver], {
    ...task,
    client: PYTHON_FILE,
    options: Object.fromEntries(Object.entries(task.options).map(([name, value]) => pythonOption(name, value))),
    closeSeconds: task.closeMs / 1_000,
  })
}

/** `batchMs: 500` → `batch_seconds: 0.5` */
function pythonOption(name: string, value: number | undefined): [string, number | undefined] {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  if (snake === 'request_timeout_ms') return ['request_timeout', value! / 1_000]
  return snake.endsWith('_ms') ? [snake.replace(/_ms$/, '_seconds'), value! / 1_000] : [snake, value]
}

function startDriver(command: string, args: readonly string[], task: object): RunningDriver {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const ends = new Ends()
  let printed = ''
  child.stderr!.setEncoding('utf8').on('data', (text) => {
    printed += text
  })
  child.stdin!.on('error', () => {}).end(`${JSON.stringify(task)}\n`)
  const lines = createInterface({ input: child.stdout! }).on('line', (line) => ends.add(JSON.parse(line)))
  const ended = Promise.all([once(child, 'close'), once(lines, 'close')]).then(([[code]]) => {
    if (printed !== '') throw new Error(printed)
    return code as number | null
  })
  return { child, ends, ended }
}
