import { join } from 'node:path'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import { Exporter } from '../../src/exports/exporter.ts'
import { RedisExports } from '../../src/exports/redis/export-store.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { FolderStore } from '../../src/stores/objects/folder-store.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { quiet, silent } from './pipeline.ts'
import { handClock } from './tenants.ts'

/* A process that writes exports, for a test that kills it. It ends with the test, see the open input. */

export interface ExportProcess {
  readonly redisUrl: string
  readonly clickhouseUrl: string
  readonly folder: string
  readonly nowMs: number
  /** Stops after the first row is read, and waits for ever. */
  readonly hangsWhileReading?: boolean
  /** Writes this many portions of 20,000 rows instead of those of ClickHouse. */
  readonly portions?: number
}

const {
  redisUrl,
  clickhouseUrl,
  folder,
  nowMs,
  hangsWhileReading,
  portions = 0,
} = JSON.parse(process.argv[2]!) as ExportProcess
process.stdin.on('end', () => process.exit()).resume()
const client = quiet(connectRedis(redisUrl, { name: 'exporting', kind: 'loop', timeoutMs: 5_000 }))
const clock = handClock(nowMs)
const companies = new ClickHouseCompanies(new QuestionReader(connectReading(clickhouseUrl, 'exporting')), clock)
const tenants = new RedisTenantStore(client)
const exporter = new Exporter({
  lease: new Membership({ client, name: 'exports' }).share(0),
  ...{ exports: new RedisExports(client), segments: new Segments(client, clock), clock, log: silent },
  async *rows(tenantId, filter, left) {
    for await (const portion of companies.rows(tenantId, filter, left)) {
      for (let i = 0; i < portions; i++) yield Array.from({ length: 20_000 }, () => portion[0]!)
      if (portions === 0) yield portion
      if (hangsWhileReading) {
        process.stdout.write('reading\n')
        await new Promise(() => {})
      }
    }
  },
  ownColumns: (tenantId) => companies.ownColumns(tenantId),
  store: new FolderStore(join(folder, 'archive')),
  spoolDir: join(folder, 'spool'),
  getTenant: (id) => tenants.getTenant(id),
})
await exporter.start()
