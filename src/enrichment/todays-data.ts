import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { Address } from '../pipeline/event/address.ts'
import type { Enrichment } from '../pipeline/event/enrichment.ts'
import { StartupError } from '../run/errors.ts'
import { EnrichmentEngine, type EnrichmentOptions } from './engine.ts'
import { type Facts, makeFacts } from './facts.ts'
import { leftOut } from './files/report.ts'

/** The folders of the data, as the engine takes them. */
export type DataFolders = Pick<EnrichmentOptions, 'dir' | 'defaultsDir' | 'fetchedDir'>

/**
 * The data files of a folder as they were at one moment: what changes in it later is not seen. For those who judge again
 * what is stored: they must not take a file that cannot be read, or an answer that failed, for one that knows nothing.
 */
export class TodaysData {
  readonly #engine: EnrichmentEngine
  #hostname: Facts | undefined
  /** What the engine complained of last. */
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

  /** @throws StartupError when a file cannot be read, or there is none */
  static async open(folders: DataFolders): Promise<TodaysData> {
    const data = new TodaysData(folders)
    await data.#engine.start()
    // It answers on, and looks at the folder no more.
    await data.#engine.stop()
    const [broken] = leftOut(data.#engine.providers())
    if (broken !== undefined) throw new StartupError(`${broken.path} cannot be used: ${broken.reason}`)
    if (data.names.length === 0) throw new StartupError('there are no enrichment data (ENRICH_DIR)')
    data.#problem = undefined
    return data
  }

  /** Of the data sets, in order of trust. */
  get names(): readonly string[] {
    return this.#engine.providerNames()
  }

  /**
   * @param hostname what reverse DNS said of the address when its event came; `''`: nothing
   * @throws Error when there is no answer
   */
  enrich(address: Address, hostname: string): Enrichment {
    this.#hostname = hostname === '' ? undefined : makeFacts({ hostname }, { hostname })
    const enrichment = this.#engine.enrich(address)
    if (this.#problem !== undefined) throw new Error(`${address.text} cannot be judged: ${this.#problem}`)
    return enrichment
  }
}
