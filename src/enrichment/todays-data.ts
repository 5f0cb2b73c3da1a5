import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { Bot } from '../../schemas/bots.ts'
import type { Lookup } from '../lookup/lookup.ts'
import type { Address } from '../pipeline/event/address.ts'
import type { Enrichment, EnrichmentData } from '../pipeline/event/enrichment.ts'
import { StartupError } from '../run/errors.ts'
import { EnrichmentEngine, type EnrichmentOptions } from './engine.ts'
import { type Facts, makeFacts } from './facts.ts'
import { leftOut } from './files/report.ts'

/** The data folders of an engine. */
export type DataFolders = Pick<EnrichmentOptions, 'dir' | 'defaultsDir' | 'fetchedDir'>

/**
 * A snapshot of the data files of a folder, for judging stored events again. It ignores later changes. It throws on an
 * unreadable file or a failed answer, which must not look like "nothing is known".
 */
export class TodaysData {
  readonly #engine: EnrichmentEngine
  #hostname: Facts | undefined
  /** The last error that the engine logged. */
  #problem: string | undefined

  private constructor({ dir, defaultsDir, fetchedDir }: DataFolders) {
    const log = pino(
      { level: 'error' },
      {
        write: (line: string) => {
          const { msg, err } = JSON.parse(line) as { msg: string; err?: { message: string } }
          this.#problem = err === undefined ? msg : `${msg}: ${err.message}`
        },
      },
    )
    const known = () => ({ facts: this.#hostname, expiresAtMs: Number.POSITIVE_INFINITY })
    this.#engine = new EnrichmentEngine({
      dir,
      defaultsDir,
      fetchedDir,
      log,
      metrics: new Registry(),
      hostnames: { known },
    })
  }

  /** @throws StartupError when a file cannot be read, or the folder holds no data */
  static async open(folders: DataFolders): Promise<TodaysData> {
    const data = new TodaysData(folders)
    await data.#engine.start()
    // A stopped engine still answers, and no longer polls the folder.
    await data.#engine.stop()
    const [broken] = leftOut(data.#engine.providers())
    if (broken !== undefined) throw new StartupError(`${broken.path} cannot be used: ${broken.reason}`)
    if (data.names.length === 0) throw new StartupError('no enrichment data found (ENRICH_DIR)')
    data.#problem = undefined
    return data
  }

  /** Names of the data sets, in order of trust. */
  get names(): readonly string[] {
    return this.#engine.providerNames()
  }

  organisationOf(domain: string): Readonly<EnrichmentData> | undefined {
    return this.#engine.organisationOf(domain)
  }

  /** All facts about an address, with the data set of each attribute. @throws Error when the lookup fails */
  lookup(address: Address): Lookup {
    const lookup = this.#engine.lookup(address)
    if (this.#problem !== undefined) throw new Error(`${address.text} cannot be looked up: ${this.#problem}`)
    return lookup
  }

  /**
   * @param hostname the host name that was known when the event arrived; `''` for none
   * @param claimed see `Enricher`
   * @throws Error when enrichment fails
   */
  enrich(address: Address, hostname: string, claimed?: Bot): Enrichment {
    this.#hostname = hostname === '' ? undefined : makeFacts({ hostname }, { hostname })
    const enrichment = this.#engine.enrich(address, claimed)
    if (this.#problem !== undefined) throw new Error(`${address.text} cannot be judged: ${this.#problem}`)
    return enrichment
  }
}
