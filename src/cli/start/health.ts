import type { Registry } from 'prom-client'
import type { Config } from '../../config/config.ts'
import type { Addresses } from '../../embedded/processes/supervisor.ts'
import { createHealthMetrics } from '../../operations/status/metrics.ts'
import { sharedRead } from '../../operations/status/shared-read.ts'
import type { SystemStatus, Verdict } from '../../operations/status/system-status.ts'
import type { PipelineOutline } from '../../pipeline/declaration/pipeline.ts'
import { isFull } from '../../run/free-space.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'

/** A scrape and a probe share a read. A store that hangs must not cost a scrape the other metrics. */
const READ = { freshMs: 2_000, lateMs: 3_000 }

interface HealthOptions {
  readonly config: Config
  readonly pipeline: PipelineOutline
  readonly registry: Registry
}

/**
 * Health as the supervisor sees it: it outlives every role. Reads the status on request, and never before the
 * start has ended.
 */
export class Health {
  readonly #options: HealthOptions
  #read: (() => Promise<SystemStatus>) | undefined

  constructor(options: HealthOptions) {
    this.#options = options
    createHealthMetrics(options.registry, {
      status: async () => await this.#status(),
      disk: async () => {
        const { diskOf } = await import('../../operations/status/role/sources.ts')
        const disk = diskOf(options.config.dataDir)
        if (disk === undefined) throw new Error('the disk cannot be asked')
        return { ...disk, isFull: isFull(disk) }
      },
    })
  }

  /** Call it when everything runs. @param redis answers or fails within a second, and is closed by the caller */
  watch({ clickhouseUrl }: Addresses, redis: RedisClient): void {
    const { config, pipeline } = this.#options
    const loaded = Promise.all([
      import('../../operations/status/role/sources.ts'),
      import('../../operations/status/collect.ts'),
    ])
    // Each read reports a failure.
    loaded.catch(() => {})
    const { dataDir } = config
    this.#read = sharedRead(async () => {
      const [{ stallLimits, statusSources }, { collectStatus }] = await loaded
      const sources = statusSources({ redis, clickhouseUrl, pipeline, dataDir })
      return await collectStatus(sources, stallLimits(config, pipeline))
    }, READ)
  }

  /** The verdict: whether accepted events make progress, and all other warnings. */
  async verdict(): Promise<Verdict> {
    return (await this.#status()).verdict
  }

  async #status(): Promise<SystemStatus> {
    if (this.#read === undefined) throw new Error('ipid is still starting')
    return await this.#read()
  }
}
