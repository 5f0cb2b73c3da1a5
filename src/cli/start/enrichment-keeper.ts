import { fork } from 'node:child_process'
import type { Logger } from 'pino'
import { type Config, defaultDataDirOf, type Environment, enrichCacheOf } from '../../config/config.ts'
import { exitReason } from '../../embedded/processes/running-process.ts'
import { uncompiledTables } from '../../enrichment/files/compiled/compile.ts'
import { defaultsWait } from '../../enrichment/files/defaults/make.ts'
import { Loop } from '../../runner/loop.ts'

export interface EnrichmentKeeperOptions {
  readonly config: Config
  /** The command line. */
  readonly script: string
  readonly env: Environment
  readonly log: Logger
}

const LOOK_MS = 2_000
const RETRY_DELAY = { minMs: 2_000, maxMs: 60_000 }
const STDERR = 2

/**
 * Has done in a child process what would hold up those that serve: big tables and the default data sets are compiled
 * there. One runs on a machine, beside its processes.
 */
export class EnrichmentKeeper {
  readonly #options: EnrichmentKeeperOptions
  readonly #loop: Loop
  /** Versions of tables that waited at the last look: one that is still being written is another at the next. */
  #waiting: readonly string[] = []

  constructor(options: EnrichmentKeeperOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: 'enrichment data',
      round: async (signal) => {
        await this.#look(signal)
        return LOOK_MS
      },
      failed: (error) => options.log.error({ err: error }, 'enrichment data cannot be compiled; tried again'),
      delay: RETRY_DELAY,
    })
  }

  /** Compiles the big tables that are there, so that no event is judged without them, and watches from then on. */
  async start(): Promise<void> {
    const { signal } = this.#loop
    try {
      if ((await this.#uncompiled()).length > 0) await this.#run('compile', signal)
    } catch (error) {
      this.#options.log.error({ err: error }, 'enrichment data cannot be compiled; tried again')
    }
    await this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async #look(signal: AbortSignal): Promise<void> {
    const waiting = await this.#uncompiled()
    const isSettled = waiting.length > 0 && waiting.join() === this.#waiting.join()
    this.#waiting = waiting
    const defaultsDir = defaultDataDirOf(this.#options.config)
    if (isSettled || (defaultsDir !== undefined && (await defaultsWait(defaultsDir)))) await this.#run('compile', signal)
  }

  async #uncompiled(): Promise<readonly string[]> {
    const { config } = this.#options
    if (config.enrichDir === undefined) return []
    return (await uncompiledTables(config.enrichDir, enrichCacheOf(config))).map(({ folder }) => folder)
  }

  /** `ipid db COMMAND` in a process of its own, which ends with this one. */
  async #run(command: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const { config, script, env, log } = this.#options
    const { enrichDir, dataDir } = config
    const startedMs = performance.now()
    const child = fork(script, ['db', command], {
      detached: true,
      env: { ...env, DATA_DIR: dataDir, DEFAULT_DATA: config.defaultData, ...(enrichDir === undefined ? {} : { ENRICH_DIR: enrichDir }) },
      stdio: ['ignore', 'ignore', STDERR, 'ipc'],
    })
    const kill = () => void child.kill('SIGKILL')
    signal.addEventListener('abort', kill, { once: true })
    const reason = await new Promise<string | undefined>((resolve) => {
      child.once('error', (error) => resolve(error.message))
      child.once('exit', (code, by) => resolve(code === 0 ? undefined : exitReason(code, by)))
    })
    signal.removeEventListener('abort', kill)
    if (signal.aborted) return
    if (reason !== undefined) throw new Error(`ipid db ${command}: ${reason}`)
    log.info({ command, ms: Math.round(performance.now() - startedMs) }, 'enrichment data were worked on')
  }
}
