import { stat } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Bot } from '../../schemas/bots.ts'
import type { Lookup } from '../lookup/lookup.ts'
import type { Address } from '../pipeline/event/address.ts'
import type { Enricher, Enrichment, EnrichmentData } from '../pipeline/event/enrichment.ts'
import { StartupError } from '../run/errors.ts'
import { Loop } from '../run/loop.ts'
import type { Service } from '../run/service.ts'
import { Lifecycle } from '../run/service.ts'
import { ReservedRanges } from './addresses/reserved.ts'
import { NOTHING_KNOWN, RESERVED } from './answers/answer.ts'
import type { LookupChoice } from './answers/choice.ts'
import { lookupReserved, lookupUnknown } from './answers/lookup.ts'
import { Snapshot } from './answers/snapshot.ts'
import { withClaim } from './bots/proof.ts'
import { type Facts, makeFacts } from './facts.ts'
import { type DataFile, DataFolder, filesOf, providersOf, STARTER_DIR } from './files/folder.ts'
import { type ProviderReport, reportOf } from './files/report.ts'
import { DEFAULT_ENRICHMENT_LIMITS, type EnrichmentLimits } from './limits.ts'
import { type EnrichmentMetrics, enrichmentMetrics } from './metrics.ts'
import type { ReverseDns } from './providers/rdns/reverse-dns.ts'
import { loadRules } from './rules/load.ts'

/** How the engine is set up. */
export interface EnrichmentOptions {
  /** Folder of data files; undefined for the starter data that ship with the product. */
  readonly dir: string | undefined
  /** Folder of fetched data that is used besides the starter data. It need not exist. */
  readonly fetchedDir?: string | undefined
  /** Folder of the big tables that another process compiles; undefined: this process reads them, and requests wait. */
  readonly compiledDir?: string | undefined
  /** Folder of the default data sets, which may be made later; undefined for none. */
  readonly defaultsDir?: string | undefined
  /** Folder that may have the starter data in the form that loads fast; undefined: `defaultsDir`. */
  readonly packedDir?: string | undefined
  readonly log: Logger
  readonly metrics: Registry
  /** Milliseconds between two polls of the folder; doubled while nothing changes. A file is loaded once two polls in a row agree on it. */
  readonly pollIntervalMs?: number
  readonly limits?: Partial<EnrichmentLimits>
  /** `enrich` adds host names that this has cached; undefined for none. */
  readonly hostnames?: Pick<ReverseDns, 'known'>
}

/** Data that do not change. */
export interface FrozenData {
  /** Names of the data sets, in order of trust. */
  readonly names: readonly string[]
  organisationOf(domain: string): Readonly<EnrichmentData> | undefined
  /**
   * @param hostname the host name that was known when the event arrived, which replaces reverse DNS; `''` for none
   * @param claimed see `Enricher`
   * @throws Error when enrichment fails
   */
  enrich(address: Address, hostname: string, claimed?: Bot): Enrichment
}

const DEFAULT_POLL_INTERVAL_MS = 2_000
/** The poll interval grows by this factor while nothing changes. */
const SETTLED_FACTOR = 2
const RETRY_DELAY_MAX_MS = 30_000

/**
 * Enriches addresses from the data files of a folder. Added, changed and removed files take effect without a restart. A
 * file that cannot be read never replaces a good one.
 */
export class EnrichmentEngine implements Enricher, Service {
  readonly name = 'enrichment'
  readonly #dir: string
  readonly #log: Logger
  readonly #limits: EnrichmentLimits
  readonly #metrics: EnrichmentMetrics
  readonly #reserved = new ReservedRanges()
  readonly #hostnames: Pick<ReverseDns, 'known'> | undefined
  /** The default data sets come last. */
  readonly #folders: DataFolder[]
  #snapshot: Snapshot
  readonly #life = new Lifecycle()
  readonly #watch: Loop

  constructor(options: EnrichmentOptions) {
    this.#dir = options.dir ?? STARTER_DIR
    this.#log = options.log
    this.#limits = { ...DEFAULT_ENRICHMENT_LIMITS, ...options.limits }
    this.#hostnames = options.hostnames
    this.#metrics = enrichmentMetrics(options.metrics, () => this.#snapshot.cachedAnswers)
    const { loaded } = this.#metrics
    const { compiledDir, defaultsDir, fetchedDir, log } = options
    const packedDir = options.dir === undefined ? (options.packedDir ?? defaultsDir) : undefined
    this.#folders = [new DataFolder(this.#dir, this.#limits, log, loaded, { compiledDir, packedDir })]
    if (fetchedDir !== undefined) {
      const fetched = { compiledDir, isOptional: true }
      this.#folders.unshift(new DataFolder(fetchedDir, this.#limits, log, loaded, fetched))
    }
    if (defaultsDir !== undefined) {
      this.#folders.push(new DataFolder(defaultsDir, this.#limits, log, loaded, { isDefault: true }))
    }
    this.#snapshot = this.#snapshotNow()
    const pollIntervalMs = options.pollIntervalMs ?? DEFAULT_POLL_INTERVAL_MS
    this.#watch = new Loop({
      name: this.name,
      round: async (signal) => {
        await this.#look(signal)
        return this.#folders.every(({ isSettled }) => isSettled) ? pollIntervalMs * SETTLED_FACTOR : pollIntervalMs
      },
      failed: (error) =>
        this.#log.error(
          { err: error, dir: this.#dir },
          'enrichment folder cannot be read; the loaded data stay in use',
        ),
      delay: { minMs: pollIntervalMs, maxMs: Math.max(pollIntervalMs, RETRY_DELAY_MAX_MS) },
    })
  }

  /** Loads all files. It logs and skips those that cannot be read. @throws StartupError without a folder */
  start(): Promise<void> {
    return this.#life.start(async () => {
      loadRules()
      await assertFolder(this.#dir)
      for (const folder of this.#folders) await folder.look(true, this.#watch.signal)
      if (this.#life.isStopped) return
      this.#takeOver()
      if (this.#snapshot.providers.length === 0)
        this.#log.warn({ dir: this.#dir }, 'no enrichment data: no address is known')
      await this.#watch.start()
    })
  }

  /** Does not wait for a file that is being read; its result is discarded. */
  stop(): Promise<void> {
    return this.#life.stop(async () => void this.#watch.stop())
  }

  /** The attributes of an address that answers and rows hold. Only `lookup` adds `network`, region, city and coordinates. */
  enrich(address: Address, claimed?: Bot): Enrichment {
    const snapshot = this.#snapshot
    const hostname = this.#hostnames?.known(address)?.facts
    const enrichment = snapshot.cached(address, hostname) ?? this.#resolve(snapshot, address, hostname)
    return claimed === undefined ? enrichment : withClaim(enrichment, claimed)
  }

  organisationOf(domain: string): Readonly<EnrichmentData> | undefined {
    return this.#snapshot.organisationOf(domain)
  }

  /** Answers from the data of this moment, so that work is not affected by later changes of files. The data stay in memory meanwhile. */
  frozen(): FrozenData {
    const snapshot = this.#snapshot
    return {
      names: snapshot.providers.map(({ name }) => name),
      organisationOf: (domain) => snapshot.organisationOf(domain),
      enrich: (address, hostname, claimed) => {
        const facts = hostname === '' ? undefined : makeFacts({ hostname }, { hostname })
        let enrichment = snapshot.cached(address, facts)
        if (enrichment === undefined) {
          const isReserved = this.#reserved.find(address) !== undefined
          enrichment = isReserved ? RESERVED : snapshot.resolve(address, facts)
          snapshot.remember(address, enrichment, facts)
        }
        return claimed === undefined ? enrichment : withClaim(enrichment, claimed)
      },
    }
  }

  #resolve(snapshot: Snapshot, address: Address, hostname: Facts | undefined): Enrichment {
    try {
      const isReserved = this.#reserved.find(address) !== undefined
      const enrichment = isReserved ? RESERVED : snapshot.resolve(address, hostname)
      snapshot.remember(address, enrichment, hostname)
      return enrichment
    } catch (error) {
      this.#log.error({ err: error, ip: address.text }, 'enrichment failed; answered as unknown')
      return NOTHING_KNOWN
    }
  }

  /**
   * All facts about an address, with the provider of each attribute and the rule that classified it. Equal lookups
   * return the same object while the data do not change.
   * @param hostname the answer of reverse DNS
   */
  lookup(address: Address, choice: LookupChoice = {}, hostname?: Facts): Lookup {
    const snapshot = this.#snapshot
    return snapshot.cachedLookup(address, choice, hostname) ?? this.#lookUp(snapshot, address, choice, hostname)
  }

  #lookUp(snapshot: Snapshot, address: Address, choice: LookupChoice, hostname: Facts | undefined): Lookup {
    try {
      const reserved = this.#reserved.find(address)
      if (reserved === undefined) return snapshot.lookup(address, choice, hostname)
      return lookupReserved(address, reserved)
    } catch (error) {
      this.#log.error({ err: error, ip: address.text }, 'lookup failed; answered as unknown')
      return lookupUnknown(address)
    }
  }

  /** The state of each file, by file name. */
  providers(): readonly ProviderReport[] {
    const sources = new Set(this.#folders.flatMap(({ sourceNames }) => [...sourceNames]))
    return this.#files.map((file) => reportOf(file, sources))
  }

  /** Names of the data sets in use, in order of trust. */
  providerNames(): readonly string[] {
    return this.#snapshot.providers.map(({ name }) => name)
  }

  get #files(): readonly DataFile[] {
    return filesOf(this.#folders)
  }

  #snapshotNow(): Snapshot {
    return new Snapshot(providersOf(this.#folders), this.#limits, (provider, error) => {
      this.#metrics.recordFailed(provider.name)
      this.#log.debug({ provider: provider.name, err: error }, 'record cannot be read')
    })
  }

  #takeOver(): void {
    this.#snapshot = this.#snapshotNow()
    const reports = this.providers()
    this.#metrics.fileStates(this.#files, new Set(reports.flatMap(({ name, hasSource }) => (hasSource ? [name] : []))))
  }

  async #look(signal: AbortSignal): Promise<void> {
    // In parallel: an idle process wakes up once for each answer that it awaits.
    const looks = await Promise.allSettled(this.#folders.map((folder) => folder.look(false, signal)))
    const changed = looks.some((look) => look.status === 'fulfilled' && look.value)
    if (changed && !signal.aborted) this.#takeOver()
    for (const look of looks) if (look.status === 'rejected') throw look.reason
  }
}

async function assertFolder(dir: string): Promise<void> {
  const stats = await stat(dir).catch(() => undefined)
  if (stats === undefined) throw new StartupError(`the enrichment folder ${dir} does not exist (ENRICH_DIR)`)
  if (!stats.isDirectory()) throw new StartupError(`${dir} is not a folder (ENRICH_DIR)`)
}
