import { fork } from 'node:child_process'
import type { Logger } from 'pino'
import { type Config, defaultDataDirOf, type Environment, enrichCacheOf, sourcesDirOf } from '../../config/config.ts'
import { minimalEnvironment } from '../../embedded/processes/minimal-environment.ts'
import { exitReason } from '../../embedded/processes/running-process.ts'
import { type BigTable, uncompiledTables } from '../../enrichment/files/compiled/compile.ts'
import { defaultsWait } from '../../enrichment/files/defaults/make.ts'
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

export interface EnrichmentKeeperOptions {
  readonly config: Config
  /** The command line. */
  readonly script: string
  readonly env: Environment
  readonly log: Logger
}

const LOOK_MS = 2_000
/** Packages change with an installation. */
const DEFAULTS_EVERY_MS = 60_000
const UPDATE_EVERY_MS = 3_600_000
const RETRY_DELAY = { minMs: 2_000, maxMs: 60_000 }
/** Of a table that could not be compiled: it costs a core meanwhile. */
const COMPILE_AGAIN_MIN_MS = 10_000
const COMPILE_AGAIN_MAX_MS = 600_000
/** A table of two million rows takes half a minute of a core that nobody else wants. */
const CHILD_MAX_MS = 1_800_000
const STDERR = 2
/** Of what a child prints. Sources are listed in it, some 300 bytes each. */
const OUTPUT_MAX_CHARACTERS = 4 * 1_048_576

/** Where temporary files and the sockets of a long DATA_DIR are, and how Node.js runs. */
const CHILD_VARIABLES = ['TMPDIR', 'NODE_OPTIONS']
/** How downloads reach their servers. */
const DOWNLOAD_VARIABLES = [
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_USE_ENV_PROXY'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
]

/** A version of a table that could not be compiled. */
interface Failure {
  readonly times: number
  /** When it is tried again, milliseconds of `performance.now`. */
  readonly againAtMs: number
}

/** How a child ended. */
interface ChildEnd {
  /** Why it failed; undefined: it did not. */
  readonly failure: string | undefined
  readonly stdout: string
}

/**
 * Has done in a child process what would hold up those that serve: big tables and the default data sets are compiled
 * there, and what is due of `sources.json`, or was asked for in the dashboard, is fetched. One runs on a machine, beside its processes.
 */
export class EnrichmentKeeper {
  readonly #options: EnrichmentKeeperOptions
  readonly #loop: Loop
  /** Versions of tables that waited at the last look: one that is still being written is another at the next. */
  #waiting: ReadonlySet<string> = new Set()
  readonly #failed = new Map<string, Failure>()
  #sourcesChangedAtMs: number | undefined
  #triedAtMs = 0
  #defaultsAtMs = Number.NEGATIVE_INFINITY
  #hasSaidWhatIsOld = false

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

  /**
   * Makes what is missing: the default data sets and the big tables that are there. Resolves when they are made, so that
   * no event is judged without them; from then on it watches. What cannot be made is logged and tried again later, and the
   * other data serve.
   */
  async start(): Promise<void> {
    const { signal } = this.#loop
    try {
      const defaultsDir = defaultDataDirOf(this.#options.config)
      // What a crash or a full disk left is found here, before it serves.
      if (defaultsDir !== undefined && (await defaultsWait(defaultsDir, 'whole'))) {
        await this.#run(['compile', '--urgent', '--defaults'], signal)
      }
      for (const table of await this.#uncompiled()) await this.#compile(table, signal, ['--urgent'])
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
    for (const table of waiting) if (this.#waiting.has(table.folder)) await this.#compile(table, signal)
    this.#waiting = new Set(waiting.map(({ folder }) => folder))
    for (const folder of this.#failed.keys()) if (!this.#waiting.has(folder)) this.#failed.delete(folder)
    await this.#updateAsAsked(signal)
    if (await this.#isDue()) await this.#update(['--due'], signal)
    const defaultsDir = defaultDataDirOf(this.#options.config)
    if (defaultsDir !== undefined) await this.#makeDefaults(defaultsDir, signal)
    await this.#sayWhatIsOld(defaultsDir)
  }

  async #makeDefaults(dir: string, signal: AbortSignal): Promise<void> {
    if (performance.now() - this.#defaultsAtMs < DEFAULTS_EVERY_MS) return
    if (await defaultsWait(dir, 'head')) await this.#run(['compile', '--defaults'], signal)
    this.#defaultsAtMs = performance.now()
  }

  /** Once: whoever wants newer data has been told. */
  async #sayWhatIsOld(defaultsDir: string | undefined): Promise<void> {
    if (this.#hasSaidWhatIsOld) return
    this.#hasSaidWhatIsOld = true
    const { config, log } = this.#options
    const { warning } = await oldDataIn({ sourcesDir: sourcesDirOf(config), defaultsDir }, Date.now())
    if (warning !== undefined) log.warn(warning)
  }

  /** Each table in a process of its own: one that is too much for it is in the way of nothing else. */
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
      log.error({ err: error, path, again_in_ms: delayMs }, 'a table cannot be compiled; what it held before serves on')
    }
  }

  /** A source that failed is tried again within the hour, one that is new at once. */
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

  /** Its end is noted after all of it: an update that a crash cuts off is done again. */
  async #updateAsAsked(signal: AbortSignal): Promise<void> {
    const dir = sourcesDirOf(this.#options.config)
    const asked = await readAskedUpdate(dir)
    if (asked === undefined || asked.outcome !== undefined) return
    // What failed now is tried again when it is due.
    this.#sourcesChangedAtMs = await sourcesChangedAt(dir)
    this.#triedAtMs = performance.now()
    const outcome = await this.#update([], signal)
    if (!signal.aborted) await endAskedUpdate(dir, asked, outcome)
  }

  /** Fetches sources, and says which failed and why. */
  async #update(how: readonly string[], signal: AbortSignal): Promise<UpdateOutcome> {
    const variables = [...DOWNLOAD_VARIABLES, ...(await this.#keyVariables())]
    const { failure, stdout } = await this.#child(['update', ...how, '--json'], signal, variables)
    const reports = reportsIn(stdout)
    const failures: SourceFailure[] = reports.flatMap(({ file, reason }) => (reason === null ? [] : [{ file, reason }]))
    if (failure !== undefined && failures.length === 0) {
      failures.push({ file: SOURCES_FILE, reason: await this.#sourcesProblem(failure) })
    }
    for (const { file, reason } of signal.aborted ? [] : failures) {
      const text = `${file} cannot be renewed: ${reason}; the data that are in use stay`
      this.#options.log.warn({ file }, text)
    }
    const changed = reports.filter(({ status }) => status === 'added' || status === 'updated').map(({ file }) => file)
    return { endedAt: new Date().toISOString(), changed, failures }
  }

  /** Names of the variables with keys for the sources. None when the list cannot be read: the child says why. */
  async #keyVariables(): Promise<string[]> {
    const sources = await readSources(sourcesDirOf(this.#options.config)).catch(() => [])
    return sources.flatMap(({ keyEnv }) => keyEnv ?? [])
  }

  /** What is wrong with the list of sources, or else the failure as it is. */
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
   * @param variables that it needs besides the usual ones: it reads files of others, so it gets no other secrets
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
      // With `close` it has printed everything.
      child.once('close', (code, by) => resolve(code === 0 ? undefined : exitReason(code, by)))
    })
    clearTimeout(limit)
    signal.removeEventListener('abort', kill)
    if (signal.aborted) return { failure: undefined, stdout }
    if (reason !== undefined) return { failure: `ipid db ${command.join(' ')}: ${reason}`, stdout }
    log.info(
      { command: command.join(' '), seconds: Math.round(performance.now() - startedMs) / 1_000 },
      'enrichment data were worked on',
    )
    return { failure: undefined, stdout }
  }
}

interface PrintedReport {
  readonly file: string
  readonly status: string
  readonly reason: string | null
}

/** What `ipid db update --json` prints; nothing when it ended before that. */
function reportsIn(stdout: string): readonly PrintedReport[] {
  try {
    return JSON.parse(stdout) as readonly PrintedReport[]
  } catch {
    return []
  }
}
