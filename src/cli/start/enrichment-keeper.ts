import { fork } from 'node:child_process'
import type { Logger } from 'pino'
import { type Config, defaultDataDirOf, type Environment, enrichCacheOf, sourcesDirOf } from '../../config/config.ts'
import { minimalEnvironment } from '../../embedded/processes/minimal-environment.ts'
import { exitReason } from '../../embedded/processes/running-process.ts'
import { type BigTable, uncompiledTables } from '../../enrichment/files/compiled/compile.ts'
import { decisionsWait, defaultsWait } from '../../enrichment/files/defaults/make.ts'
import { oldDataIn } from '../../enrichment/files/old-data.ts'
import {
  endAskedUpdate,
  readAskedUpdate,
  type SourceFailure,
  type UpdateOutcome,
} from '../../enrichment/files/update/asked-update.ts'
import { readSources, SOURCES_FILE, sourcesChangedAt } from '../../enrichment/files/update/sources.ts'
import { anyDue } from '../../enrichment/files/update/update.ts'
import { Loop } from '../../run/loop.ts'

interface EnrichmentKeeperOptions {
  readonly config: Config
  /** The script that child processes run. */
  readonly script: string
  readonly env: Environment
  readonly log: Logger
}

const LOOK_MS = 2_000
/** An installation of packages changes the defaults. */
const DEFAULTS_EVERY_MS = 60_000
const UPDATE_EVERY_MS = 3_600_000
const RETRY_DELAY = { minMs: 2_000, maxMs: 60_000 }
/** The shortest time until a failed table is compiled again. Compiling keeps a core busy. */
const COMPILE_AGAIN_MIN_MS = 10_000
const COMPILE_AGAIN_MAX_MS = 600_000
/** Limit for one child. A table of two million rows takes half a minute when the core is free. */
const CHILD_MAX_MS = 1_800_000
const STDERR = 2
/** Limit for the output of a child. It lists sources, some 300 bytes each. */
const OUTPUT_MAX_CHARACTERS = 4 * 1_048_576

/** Temporary files, sockets of a long DATA_DIR, and options of Node.js. */
const CHILD_VARIABLES = ['TMPDIR', 'NODE_OPTIONS']
/** Variables that downloads need to reach their servers. */
const DOWNLOAD_VARIABLES = [
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_USE_ENV_PROXY'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
]

/** A version of a table that could not be compiled. */
interface Failure {
  readonly times: number
  /** When to try again, in milliseconds of `performance.now`. */
  readonly againAtMs: number
}

/** How a child ended. */
interface ChildEnd {
  /** Why it failed; undefined when it succeeded. */
  readonly failure: string | undefined
  readonly stdout: string
}

/**
 * Does slow work in child processes, so that serving processes are not held up: compiles big tables and the default data
 * sets, and downloads sources that are due or that an operator requested in the dashboard. One instance of it runs per
 * machine.
 */
export class EnrichmentKeeper {
  readonly #options: EnrichmentKeeperOptions
  readonly #loop: Loop
  /** Table versions seen at the last check. A table that is still being written has another version at the next check. */
  #waiting: ReadonlySet<string> = new Set()
  readonly #failed = new Map<string, Failure>()
  #sourcesChangedAtMs: number | undefined
  #triedAtMs = 0
  #defaultsAtMs = Number.NEGATIVE_INFINITY
  #hasWarnedOfOldData = false

  constructor(options: EnrichmentKeeperOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: 'enrichment data',
      round: async (signal) => {
        await this.#look(signal)
        return LOOK_MS
      },
      failed: (error) => options.log.error({ err: error }, 'cannot update the enrichment data; trying again'),
      delay: RETRY_DELAY,
    })
  }

  /**
   * Makes the default data sets and the big tables that are missing, so that no event is judged without them. Resolves when
   * they are ready; then watches for changes. A failure is logged and tried again later, while the other data serve.
   */
  async start(): Promise<void> {
    const { signal } = this.#loop
    try {
      const defaultsDir = defaultDataDirOf(this.#options.config)
      // Clean up after a crash or a full disk before the data serve.
      if (defaultsDir !== undefined && (await defaultsWait(defaultsDir, 'whole'))) {
        await this.#run(['compile', '--urgent', '--defaults'], signal)
      }
      for (const table of await this.#uncompiled()) await this.#compile(table, signal, ['--urgent'])
    } catch (error) {
      this.#options.log.error({ err: error }, 'cannot update the enrichment data; trying again')
    }
    await this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async #look(signal: AbortSignal): Promise<void> {
    const waiting = await this.#uncompiled()
    for (const table of waiting) if (this.#waiting.has(table.folder)) await this.#compile(table, signal)
    this.#waiting = new Set(waiting.map(({ folder }) => folder))
    for (const folder of this.#failed.keys()) if (!this.#waiting.has(folder)) this.#failed.delete(folder)
    await this.#updateAsAsked(signal)
    if (await this.#isDue()) await this.#update(['--due'], signal)
    const defaultsDir = defaultDataDirOf(this.#options.config)
    if (defaultsDir !== undefined) await this.#makeDefaults(defaultsDir, signal)
    await this.#warnOfOldData(defaultsDir)
  }

  async #makeDefaults(dir: string, signal: AbortSignal): Promise<void> {
    if (performance.now() - this.#defaultsAtMs < DEFAULTS_EVERY_MS) return
    if ((await defaultsWait(dir, 'head')) || (await this.#decisionsAreDue(dir))) {
      await this.#run(['compile', '--defaults'], signal)
    }
    this.#defaultsAtMs = performance.now()
  }

  /** Not in the first minute: making them takes ten seconds of CPU, and answers are the same without. */
  async #decisionsAreDue(dir: string): Promise<boolean> {
    return Number.isFinite(this.#defaultsAtMs) && (await decisionsWait(dir))
  }

  /** Logs it once: repeating it would not help. */
  async #warnOfOldData(defaultsDir: string | undefined): Promise<void> {
    if (this.#hasWarnedOfOldData) return
    this.#hasWarnedOfOldData = true
    const { config, log } = this.#options
    const { warning } = await oldDataIn({ sourcesDir: sourcesDirOf(config), defaultsDir }, Date.now())
    if (warning !== undefined) log.warn(warning)
  }

  /** Compiles each table in a process of its own, so that one that needs too much memory stops no other. */
  async #compile({ path, folder }: BigTable, signal: AbortSignal, how: readonly string[] = []): Promise<void> {
    const failure = this.#failed.get(folder)
    if (failure !== undefined && performance.now() < failure.againAtMs) return
    try {
      await this.#run(['compile', ...how, '--table', path], signal)
      this.#failed.delete(folder)
    } catch (error) {
      const times = (failure?.times ?? 0) + 1
      const delayMs = Math.min(COMPILE_AGAIN_MIN_MS * 2 ** (times - 1), COMPILE_AGAIN_MAX_MS)
      this.#failed.set(folder, { times, againAtMs: performance.now() + delayMs })
      const { log } = this.#options
      log.error({ err: error, path, again_in_ms: delayMs }, 'cannot compile a table; its previous version stays in use')
    }
  }

  /** A failed source is due within the hour, a new one at once. */
  async #isDue(): Promise<boolean> {
    const dir = sourcesDirOf(this.#options.config)
    const changedAtMs = await sourcesChangedAt(dir)
    if (changedAtMs === undefined) return false
    const isNew = changedAtMs !== this.#sourcesChangedAtMs
    if (!isNew && performance.now() - this.#triedAtMs < UPDATE_EVERY_MS) return false
    this.#sourcesChangedAtMs = changedAtMs
    this.#triedAtMs = performance.now()
    return await anyDue(dir, await readSources(dir), Date.now())
  }

  /** Notes the request as done after the update, so that an update cut off by a crash is repeated. */
  async #updateAsAsked(signal: AbortSignal): Promise<void> {
    const dir = sourcesDirOf(this.#options.config)
    const asked = await readAskedUpdate(dir)
    if (asked === undefined || asked.outcome !== undefined) return
    // A source that failed now is tried again when it is due.
    this.#sourcesChangedAtMs = await sourcesChangedAt(dir)
    this.#triedAtMs = performance.now()
    const outcome = await this.#update([], signal)
    if (!signal.aborted) await endAskedUpdate(dir, asked, outcome)
  }

  /** Downloads sources, and logs which failed and why. */
  async #update(how: readonly string[], signal: AbortSignal): Promise<UpdateOutcome> {
    const variables = [...DOWNLOAD_VARIABLES, ...(await this.#keyVariables())]
    const { failure, stdout } = await this.#child(['update', ...how, '--json'], signal, variables)
    const reports = reportsIn(stdout)
    const failures: SourceFailure[] = reports.flatMap(({ file, reason }) => (reason === null ? [] : [{ file, reason }]))
    if (failure !== undefined && failures.length === 0) {
      failures.push({ file: SOURCES_FILE, reason: await this.#sourcesProblem(failure) })
    }
    for (const { file, reason } of signal.aborted ? [] : failures) {
      const text = `cannot update ${file}: ${reason}; the current data stay in use`
      this.#options.log.warn({ file }, text)
    }
    const changed = reports.filter(({ status }) => status === 'added' || status === 'updated').map(({ file }) => file)
    return { endedAt: new Date().toISOString(), changed, failures }
  }

  /** Names of the variables with the keys of the sources. Empty when the list cannot be read: the child reports why. */
  async #keyVariables(): Promise<string[]> {
    const sources = await readSources(sourcesDirOf(this.#options.config)).catch(() => [])
    return sources.flatMap(({ keyEnv }) => keyEnv ?? [])
  }

  /** The error in the list of sources, or else the failure unchanged. */
  async #sourcesProblem(failure: string): Promise<string> {
    return await readSources(sourcesDirOf(this.#options.config)).then(
      () => failure,
      (error: Error) => error.message,
    )
  }

  async #uncompiled(): Promise<readonly BigTable[]> {
    const { config } = this.#options
    return await uncompiledTables(sourcesDirOf(config), enrichCacheOf(config))
  }

  async #run(command: readonly string[], signal: AbortSignal): Promise<void> {
    const { failure } = await this.#child(command, signal)
    if (failure !== undefined) throw new Error(failure)
  }

  /**
   * Runs `ipid db COMMAND` in a process of its own, which ends with this one. An abort is no failure.
   * @param variables names of further variables to pass on. The child reads files of third parties, so it gets no other
   * secrets.
   */
  async #child(command: readonly string[], signal: AbortSignal, variables: readonly string[] = []): Promise<ChildEnd> {
    let stdout = ''
    if (signal.aborted) return { failure: undefined, stdout }
    const { config, script, env, log } = this.#options
    const { enrichDir, dataDir } = config
    const startedMs = performance.now()
    const child = fork(script, ['db', ...command], {
      detached: true,
      env: {
        ...minimalEnvironment(env, [...CHILD_VARIABLES, ...variables]),
        DATA_DIR: dataDir,
        DEFAULT_DATA: config.defaultData,
        ...(enrichDir === undefined ? {} : { ENRICH_DIR: enrichDir }),
      },
      stdio: ['ignore', 'pipe', STDERR, 'ipc'],
    })
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      if (stdout.length < OUTPUT_MAX_CHARACTERS) stdout += text
    })
    const kill = () => void child.kill('SIGKILL')
    signal.addEventListener('abort', kill, { once: true })
    const limit = setTimeout(kill, CHILD_MAX_MS)
    const reason = await new Promise<string | undefined>((resolve) => {
      child.once('error', (error) => resolve(error.message))
      // At `close` all output has arrived.
      child.once('close', (code, by) => resolve(code === 0 ? undefined : exitReason(code, by)))
    })
    clearTimeout(limit)
    signal.removeEventListener('abort', kill)
    if (signal.aborted) return { failure: undefined, stdout }
    if (reason !== undefined) return { failure: `ipid db ${command.join(' ')}: ${reason}`, stdout }
    log.info(
      { command: command.join(' '), seconds: Math.round(performance.now() - startedMs) / 1_000 },
      'a child process worked on enrichment data',
    )
    return { failure: undefined, stdout }
  }
}

interface PrintedReport {
  readonly file: string
  readonly status: string
  readonly reason: string | null
}

/** The reports in the output of `ipid db update --json`; empty when the child ended before it printed them. */
function reportsIn(stdout: string): readonly PrintedReport[] {
  try {
    return JSON.parse(stdout) as readonly PrintedReport[]
  } catch {
    return []
  }
}
