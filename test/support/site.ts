import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type CommandResult, runCommand } from './command.ts'
import { tablesUrlOf } from './fetch-clickhouse.ts'
import { copyMadeData } from './made-data.ts'
import { takePort } from './ports.ts'
import { isAlive, processesNaming } from './processes.ts'
import { until } from './until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The content of `--ready-file`. */
export interface ReadyFile {
  readonly url: string
  readonly clickhouse_url: string
  /** ClickHouse as the instance itself uses it. */
  readonly tables_url: string
  readonly redis_url: string
  readonly metrics_url: string
  readonly pid: number
  readonly tenant_id?: string
  readonly api_key?: string
  readonly dashboard_url?: string
}

export interface Started {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  /** Resolves when it is ready; rejects when it ends first. */
  readonly ready: () => Promise<ReadyFile>
  /** Resolves when it has ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
}

/** A DATA_DIR and the processes on it. All of it is removed after the test. */
export class TestSite {
  readonly dir: string
  readonly env: Record<string, string | undefined>
  readonly #readyFile: string

  constructor(t: { after(hook: () => Promise<void>): void }, env: Record<string, string> = {}) {
    const base = mkdtempSync(join(tmpdir(), 'ipid-site-'))
    this.dir = join(base, 'data')
    this.#readyFile = join(base, 'ready.json')
    this.env = {
      ...withoutNpm(process.env),
      PORT: String(takePort()),
      CLICKHOUSE_PORT: String(takePort()),
      ADMIN_PORT: '0',
      DASHBOARD_PORT: String(takePort()),
      LOG_LEVEL: 'warn',
      REDIS_MAX_MEMORY: '256mb',
      DATA_DIR: this.dir,
      DEFAULT_DATA: 'off',
      // No site of a company is asked.
      DASHBOARD_FAVICONS: 'off',
      ...env,
    }
    t.after(async () => {
      for (const pid of this.processes()) killIfThere(pid)
      await this.untilNothingRuns()
      rmSync(base, { recursive: true, force: true })
    })
  }

  /** Processes that have this DATA_DIR in their environment or command line. */
  processes(): number[] {
    return processesNaming(this.dir)
  }

  async untilNothingRuns(): Promise<void> {
    await until(() => this.processes().length === 0)
  }

  /**
   * `npm start`, or the same without npm around it.
   * @param options.through a command that runs the command after it, for example `setpriv`
   */
  start(args: readonly string[] = [], { npm = false, through = [] as readonly string[] } = {}): Started {
    rmSync(this.#readyFile, { force: true })
    // With npm it is the first start of a user.
    if (!npm && !existsSync(this.dir) && this.env.CLICKHOUSE_URL === undefined) copyMadeData(this.dir)
    const flags = [...args, '--ready-file', this.#readyFile]
    const command = npm
      ? ['npm', 'start', '--', ...flags]
      : [...through, process.execPath, 'src/bootstrap.mjs', 'start', ...flags]
    const started = run(command, this.env)
    const ready = async () => {
      const over = started.ended.then(({ code }) => code ?? -1)
      let code: number | undefined
      void over.then((value) => {
        code = value
      })
      return await until(() => {
        if (code !== undefined) throw new Error(`ended with ${code}: ${started.stderr()}`)
        return existsSync(this.#readyFile)
          ? ({ ...JSON.parse(readFileSync(this.#readyFile, 'utf8')), tables_url: tablesUrlOf(this.dir) } as ReadyFile)
          : undefined
      })
    }
    return { ...started, ready }
  }

  /** One command of the command line, while it runs. */
  spawn(...args: readonly string[]): Omit<Started, 'ready'> {
    return run([process.execPath, 'src/ipid.mjs', ...args], this.env)
  }

  /** One command of the command line, in this process: on a busy machine a separate process takes seconds to start. */
  ipid(...args: readonly string[]): Promise<CommandResult> {
    return runCommand(args, { env: this.env as Record<string, string> })
  }

  /** The JSON that a command prints. Fails when the command does, or says anything else. */
  async json(...args: readonly string[]) {
    const { code, stdout, stderr } = await this.ipid(...args, '--json')
    assert.equal(stderr, '')
    assert.equal(code, 0)
    return JSON.parse(stdout)
  }
}

/** Members of an object, in this order. */
export function pick(value: object, ...names: readonly string[]): unknown[] {
  return names.map((name) => (value as Record<string, unknown>)[name])
}

function run(command: readonly string[], env: Record<string, string | undefined>): Omit<Started, 'ready'> {
  const child = spawn(command[0]!, command.slice(1), { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  return { child, stdout: () => stdout, stderr: () => stderr, ended }
}

/** A test under `npm test` must not look like a script of npm to its child processes. */
function withoutNpm(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('npm_') && name !== 'NODE_OPTIONS'))
}

function killIfThere(pid: number): void {
  if (isAlive(pid)) process.kill(pid, 'SIGKILL')
}
