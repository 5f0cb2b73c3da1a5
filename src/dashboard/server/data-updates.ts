import { access, constants } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import type { DataUpdate } from '../../../schemas/dashboard/system.ts'
import type { EnrichmentEngine } from '../../enrichment/engine.ts'
import { providerNameOf } from '../../enrichment/files/data-file.ts'
import { dataSetsOf } from '../../enrichment/files/report.ts'
import { type AskedUpdate, askForUpdate, readAskedUpdate } from '../../enrichment/files/update/asked-update.ts'
import { entryOf, type KnownSource, knownSource } from '../../enrichment/files/update/known-sources.ts'
import { readSources, type Source, sourcesChangedAt } from '../../enrichment/files/update/sources.ts'
import { HttpError } from '../../http/engine/http-error.ts'
import type { Clock } from '../../run/clock.ts'
import { cutText } from '../../run/cut-text.ts'
import { InputError } from '../../run/errors.ts'

interface DataUpdateOptions {
  /** The folder of `ipid db add` and `ipid db update`. */
  readonly dir: string
  readonly engine: Pick<EnrichmentEngine, 'providers'>
  /** Machines of all processes. */
  readonly hosts: () => Promise<readonly string[]>
  readonly clock: Clock
}

/** How long to show the result of an update. */
const SHOWN_MS = 86_400_000
const REASON_MAX = 300

/**
 * Updates enrichment data like `ipid db add` and `ipid db update`: adds the free sources of newer data to `sources.json`, and asks
 * the process that keeps the data of this machine to fetch them. Each machine has its own data, so it refuses when processes
 * run on another machine.
 */
export class FolderUpdates {
  readonly #options: DataUpdateOptions
  /** Serializes updates: two concurrent ones would both write `sources.json`. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: DataUpdateOptions) {
    this.#options = options
  }

  /** State of the update; null when there is nothing to fetch. @param hosts of all processes */
  async read(hosts: readonly string[]): Promise<DataUpdate | null> {
    const sources = await this.#sources()
    const configured = sources instanceof InputError ? [] : sources
    const missing = this.#newer().filter(({ file }) => !configured.some(({ name }) => name === providerNameOf(file)))
    if (missing.length === 0 && configured.length === 0 && !(sources instanceof InputError)) return null
    const adds = missing.filter(({ keyEnv }) => keyEnv === undefined)
    return {
      ...this.#stateOf(await readAskedUpdate(this.#options.dir)),
      adds: adds.map(({ name, holds, licence }) => ({ name, holds, licence })),
      keyed: missing.flatMap(({ name, holds, keyEnv }) =>
        keyEnv === undefined ? [] : [{ name, holds, key_env: keyEnv }],
      ),
      blocked: sources instanceof InputError ? sources.message : await this.#obstacle(hosts),
      command: commandOf(adds),
    }
  }

  /**
   * Requests an update, unless one is running.
   * @throws HttpError 409 with the reason when this dashboard cannot do it; InputError when `sources.json` is invalid
   */
  ask(): Promise<DataUpdate> {
    const asked = this.#last.then(() => this.#ask())
    this.#last = asked.catch(() => {})
    return asked
  }

  async #ask(): Promise<DataUpdate> {
    const { dir, clock } = this.#options
    const hosts = await this.#options.hosts()
    const before = await this.read(hosts)
    if (before === null) throw new HttpError('conflict', 'there is nothing to fetch: no source of data is configured')
    if (before.blocked !== null) throw new HttpError('conflict', before.blocked)
    const entries = before.adds.map(({ name }) => entryOf(knownSource(name)))
    try {
      await askForUpdate(dir, entries, new Date(clock.now()).toISOString())
    } catch (error) {
      if (error instanceof InputError) throw error
      throw new HttpError('conflict', `nothing can be written into ${dir}: ${(error as Error).message}`)
    }
    return (await this.read(hosts))!
  }

  /** The sources of `sources.json`, or the error in it. */
  async #sources(): Promise<readonly Source[] | InputError> {
    const { dir } = this.#options
    if ((await sourcesChangedAt(dir)) === undefined) return []
    return await readSources(dir).catch((error: unknown) => {
      if (error instanceof InputError) return error
      throw error
    })
  }

  /** Known sources that have newer data than those in use. */
  #newer(): readonly KnownSource[] {
    const sets = dataSetsOf(this.#options.engine.providers(), this.#options.clock.now())
    return [...new Set(sets.flatMap(({ newer }) => newer ?? []))].map(knownSource)
  }

  async #obstacle(hosts: readonly string[]): Promise<string | null> {
    const others = [...new Set(hosts)].filter((host) => host !== hostname()).sort()
    if (others.length > 0) {
      return `processes run on other machines too (${listOf(others)}), which have data of their own: run this on each machine`
    }
    const { dir } = this.#options
    return (await isWritable(dir)) ? null : `nothing can be written into ${dir}: make it writable, then run this`
  }

  #stateOf(asked: AskedUpdate | undefined): Pick<DataUpdate, 'state' | 'asked_at' | 'at' | 'changed' | 'failures'> {
    const none = { changed: [], failures: [] }
    if (asked === undefined) return { state: 'idle', asked_at: null, at: null, ...none }
    const { askedAt: asked_at, outcome } = asked
    if (outcome === undefined) return { state: 'fetching', asked_at, at: asked_at, ...none }
    const { endedAt: at, changed, failures } = outcome
    if (this.#options.clock.now() - Date.parse(at) > SHOWN_MS) return { state: 'idle', asked_at, at: null, ...none }
    return {
      ...{ state: failures.length === 0 ? 'done' : 'failed', asked_at, at, changed: [...changed] },
      failures: failures.map(({ file, reason }) => ({ file, reason: cutText(reason, REASON_MAX) })),
    }
  }
}

const HOSTS_SHOWN_MAX = 5

function listOf(hosts: readonly string[]): string {
  const rest = hosts.length - HOSTS_SHOWN_MAX
  return rest <= 0 ? hosts.join(', ') : `${hosts.slice(0, HOSTS_SHOWN_MAX).join(', ')} and ${rest} more`
}

function commandOf(adds: readonly KnownSource[]): string {
  const add = adds.length === 0 ? '' : `./ipid db add ${adds.map(({ name }) => name).join(' ')} && `
  return `${add}./ipid db update`
}

/** Whether a folder can be written, or created if it is missing. */
async function isWritable(dir: string): Promise<boolean> {
  try {
    await access(dir, constants.W_OK)
    return true
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    return isMissing && dirname(dir) !== dir && (await isWritable(dirname(dir)))
  }
}
