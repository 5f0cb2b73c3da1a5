import { ingest } from '../../../../pipelines/ingest.ts'
import { archiveLocationOf, type Config } from '../../../config/config.ts'
import { trustedDataDir } from '../../../embedded/processes/data-dir.ts'
import { openObjectStore } from '../../../pipeline/sinks/archive/destination.ts'
import { activeOn, partitionsOf } from '../../../pipeline/streams/topology.ts'
import { StartupError } from '../../../run/errors.ts'
import { SecretBox } from '../../../secrets/secret-box.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import type { TenantAdmin } from '../../../tenants/admin.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { asInstance, clickhousePlaceOf, redisUrlOf } from '../../../terminal/instance.ts'
import { printLine } from '../../../terminal/print.ts'
import { withRewriteLease } from '../../../terminal/rewrite-lease.ts'
import { tenantAdmin, withRedis } from '../../../terminal/stores.ts'
import { endReenrichment } from '../../reenrich/end.ts'
import { StoreErasableArchive } from '../erasable-archive.ts'
import { ClickHouseErasableEvents } from '../erasable-events.ts'
import type { ErasableArchive, ErasableMails, ErasableRecords, ErasableTables, TenantRemoval } from '../ports.ts'
import { RedisErasableMails } from '../redis/erasable-mails.ts'
import { RedisErasableRecords } from '../redis/erasable-records.ts'
import { RedisTenantRemoval } from '../redis/tenant-removal.ts'

/** The stores of the running instance, for an erasure. */
interface Erasable {
  readonly admin: TenantAdmin
  readonly tables: ErasableTables
  readonly records: ErasableRecords
  readonly archive: ErasableArchive
  readonly tenants: TenantRemoval
  readonly mails: ErasableMails
  /** Runs `use` while no other process replaces, removes or copies stored events, and no copy of them is left. */
  alone<T>(use: () => Promise<T>): Promise<T>
}

export async function withErasable<T>(
  given: Config,
  context: CliContext,
  use: (erasable: Erasable) => Promise<T>,
): Promise<T> {
  const config = await asInstance(given)
  const log = await createLogger({ level: 'warn', name: 'erase', pretty: context.stderr.isTTY === true })
  const place = await clickhousePlaceOf(config)
  const store = openObjectStore(archiveLocationOf(config))
  try {
    const redisUrl = await redisUrlOf(config)
    return await withRedis(redisUrl, async (client) => {
      const partitions = await partitionsOf(client)
      if (partitions === 0) throw new StartupError('there is nothing to erase: no ipid has run on this Redis')
      const pipeline = await activeOn(client, ingest)
      const dir = trustedDataDir(config.dataDir)
      const folder = redisUrl === `unix://${dir.redisSocket}` ? dir.redis : undefined
      return await use({
        admin: tenantAdmin(client, config),
        tables: new ClickHouseErasableEvents(place),
        records: new RedisErasableRecords({ client, pipeline, partitions, folder, log }),
        archive: new StoreErasableArchive(store),
        tenants: new RedisTenantRemoval(client),
        mails: new RedisErasableMails(client, new SecretBox(config)),
        alone: (erase) =>
          withRewriteLease(client, 'an erasure', async (hold) => {
            await endReenrichment(place, hold, (line) => printLine(context.stderr, line))
            return await erase()
          }),
      })
    })
  } finally {
    await store.close()
  }
}
