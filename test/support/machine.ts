import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tablesUrlOf } from './fetch-clickhouse.ts'
import { type Ready, writeTestData } from './instance.ts'
import { takePort } from './ports.ts'
import { processesNaming } from './processes.ts'
import { until } from './until.ts'

/** A checkout of ipid that can be started. */
export interface Checkout {
  readonly root: string
}

/** The output of a start. */
export interface Started extends Ready {
  /** Signs an operator in, once. */
  readonly dashboard_url: string
}

const OUTPUT_BYTES_MAX = 16 * 2 ** 20

/** A DATA_DIR with its settings and ports, on which one version after the other runs. All of it is removed after the test. */
export class Machine {
  readonly #dir = mkdtempSync(join(tmpdir(), 'ipid-machine-'))
  readonly #env: Record<string, string>
  #child: ChildProcess | undefined
  #printed = ''

  private constructor(env: Record<string, string>, data: Record<string, string>) {
    this.#env = {
      PATH: process.env.PATH!,
      HOME: this.#dir,
      DATA_DIR: join(this.#dir, 'data'),
      DEFAULT_DATA: 'off',
      LOG_LEVEL: 'warn',
      PORT: String(takePort()),
      CLICKHOUSE_PORT: String(takePort()),
      DASHBOARD_PORT: String(takePort()),
      ADMIN_PORT: '0',
      CLAIM_IDLE_MS: '1000',
      PARTITIONS: '2',
      ...data,
      ...env,
    }
  }

  /** @param env settings beside those that keep it private */
  static async create(
    t: { after(hook: () => Promise<void>): void },
    env: Record<string, string> = {},
  ): Promise<Machine> {
    const dataDir = mkdtempSync(join(tmpdir(), 'ipid-machine-data-'))
    const machine = new Machine(env, await writeTestData(dataDir))
    t.after(async () => {
      await machine.kill()
      for (const dir of [dataDir, machine.#dir]) await rm(dir, { recursive: true, force: true, maxRetries: 5 })
    })
    return machine
  }

  /** Its running processes. */
  get pids(): number[] {
    return processesNaming(this.#dir)
  }

  /** Everything printed to standard error so far. */
  get stderr(): string {
    return this.#printed
  }

  /** Starts a version; resolves when it is ready. */
  async start({ root }: Checkout, args: readonly string[] = []): Promise<Started> {
    const readyFile = join(this.#dir, 'ready.json')
    rmSync(readyFile, { force: true })
    const child = spawn(process.execPath, ['src/ipid.mjs', 'start', ...args, '--ready-file', readyFile], {
      cwd: root,
      env: this.#env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#child = child
    child.stderr.on('data', (bytes) => {
      this.#printed += String(bytes)
    })
    await until(() => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${this.#printed}`)
      return existsSync(readyFile)
    })
    return { ...JSON.parse(readFileSync(readyFile, 'utf8')), tables_url: tablesUrlOf(this.#env.DATA_DIR!) } as Started
  }

  /** `kill -9` of the main process; resolves when all its processes are gone. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
    for (const pid of processesNaming(this.#dir)) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {}
    }
    await until(() => processesNaming(this.#dir).length === 0)
  }

  /** Stops it in order; resolves with the exit code. */
  async stop(): Promise<number | null> {
    const code = await this.#end('SIGTERM')
    await until(() => processesNaming(this.#dir).length === 0)
    return code
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child
    if (child === undefined) return null
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit')
      child.kill(signal)
      await gone
    }
    return child.exitCode
  }

  /** Runs a command of a version, and returns its standard output. */
  async ipid({ root }: Checkout, ...args: readonly string[]): Promise<string> {
    return await new Promise((resolve, reject) => {
      const options = { cwd: root, env: this.#env, maxBuffer: OUTPUT_BYTES_MAX }
      execFile(process.execPath, ['src/ipid.mjs', ...args], options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout)
        else reject(new Error(`ipid ${args.join(' ')}: ${stderr}${error.message}`))
      })
    })
  }
}
