import { fork } from 'node:child_process'
import type { Logger } from 'pino'
import { type Config, defaultDataDirOf, type Environment, enrichCacheOf } from '../../config/config.ts'
import { exitReason } from '../../embedded/processes/running-process.ts'
import { uncompiledTables } from '../../enrichment/files/compiled/compile.ts'
import { defaultsWait } from '../../enrichment/files/defaults/make.ts'
import { readSources, sourcesChangedAt } from '../../enrichment/files/update/sources.ts'
import { anyDue } from '../../enrichment/files/update/update.ts'
import { Loop } from '../../runner/loop.ts'

export interface EnrichmentKeeperOptions {
  readonly config: Config
  /** The command line. */
  readonly script: string
  readonly env: Environment
  readonly log: Logger
}

const LOOK_MS = 2_000
const UPDATE_EVERY_MS = 3_600_000
const RETRY_DELAY = { minMs: 2_000, maxMs: 60_000 }
const STDERR = 2

/**
 * Has done in a child process what would hold up those that serve: big tables and the default data sets are compiled
 * there, and what is due of `sources.json` is fetched. One runs on a machine, beside its processes.
 */
export class EnrichmentKeeper {
  readonly #options: EnrichmentKeeperOptions
  readonly #loop: Loop
  /** Versions of tables that waited at the last look: one that is still being written is another at the next. */
  #waiting: readonly string[] = []
  #sourcesChangedAtMs: number | undefined
  #triedAtMs = 0

  constructor(options: EnrichmentKeeperOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: 'enrichment data',
      round: async (signal) => {
        await this.#look(signal)
        return LOOK_MS
      },
      failed: (error) => options.log.error({ err: error }, 'enrichment data cannot be brought up to date; tried again'),
      delay: RETRY_DELAY,
    })
  }

  /** Compiles the big tables that are there, so that no event is judged without them, and watches from then on. */
  async start(): Promise<void> {
    const { signal } = this.#loop
    try {
      if ((await this.#uncompiled()).length > 0) await this.#run(['compile'], signal)
    } catch (error) {
      this.#options.log.error({ err: error }, 'enrichment data cannot be brought up to date; tried again')
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
    const isCompiled = !isSettled && (defaultsDir === undefined || !(await defaultsWait(defaultsDir)))
    if (!isCompiled) await this.#run(['compile'], signal)
    if (await this.#isDue()) await this.#update(signal)
  }

  /** A source that failed is tried again within the hour, one that is new at once. */
  async #isDue(): Promise<boolean> {
    const { enrichDir } = this.#options.config
    const changedAtMs = enrichDir === undefined ? undefined : await sourcesChangedAt(enrichDir)
    if (enrichDir === undefined || changedAtMs === undefined) return false
    const isNew = changedAtMs !== this.#sourcesChangedAtMs
    if (!isNew && performance.now() - this.#triedAtMs < UPDATE_EVERY_MS) return false
    this.#sourcesChangedAtMs = changedAtMs
    this.#triedAtMs = performance.now()
    return await anyDue(enrichDir, await readSources(enrichDir), Date.now())
  }

  async #update(signal: AbortSignal): Promise<void> {
    try {
      await this.#run(['update', '--due'], signal)
    } catch (error) {
      this.#options.log.warn({ err: error }, 'a source of enrichment data cannot be had; what is there serves on')
    }
  }

  async #uncompiled(): Promise<readonly string[]> {
    const { config } = this.#options
    if (config.enrichDir === undefined) return []
    return (await uncompiledTables(config.enrichDir, enrichCacheOf(config))).map(({ folder }) => folder)
  }

  /** `ipid db COMMAND` in a process of its own, which ends with this one. */
  async #run(command: readonly string[], signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const { config, script, env, log } = this.#options
    const { enrichDir, dataDir } = config
    const startedMs = performance.now()
    const child = fork(script, ['db', ...command], {
      detached: true,
      env: {
        ...env,
        DATA_DIR: dataDir,
        DEFAULT_DATA: config.defaultData,
        ...(enrichDir === undefined ? {} : { ENRICH_DIR: enrichDir }),
      },
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
    if (reason !== undefined) throw new Error(`ipid db ${command.join(' ')}: ${reason}`)
    log.info(
      { command: command.join(' '), seconds: Math.round(performance.now() - startedMs) / 1_000 },
      'enrichment data were worked on',
    )
  }
}
