import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Destinations } from '../../src/alerts/sending/destinations.ts'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import { CompanyCorrections } from '../../src/companies/corrections/corrections.ts'
import { correctionsLock } from '../../src/companies/corrections/lock.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import { CrmAdmin } from '../../src/crm/admin.ts'
import { HubSpot } from '../../src/crm/hubspot/hubspot.ts'
import { OutgoingCompanies } from '../../src/crm/outgoing.ts'
import { RedisCrm } from '../../src/crm/redis/crm-store.ts'
import { wireTo } from '../../src/crm/request.ts'
import { CrmSyncer } from '../../src/crm/syncer.ts'
import type { Clock } from '../../src/run/clock.ts'
import { SecretBox } from '../../src/secrets/secret-box.ts'
import { connectClickHouse, DATABASE } from '../../src/stores/clickhouse/client.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { quiet, silent } from './pipeline.ts'

/** 64 hexadecimal characters: every process of a test opens the token. */
export const SECRETS_KEY = 'ab'.repeat(32)

interface CrmWorld {
  readonly redisUrl: string
  readonly clickhouseUrl: string
  /** Of HubSpot. */
  readonly origin: string
  readonly clock: Clock
  /** See `Membership`: its successor takes over at once. */
  readonly processName?: string
  /** Default: of real time. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

/** The parts of the role that bring a CRM up to date, as `crmRole` joins them. */
export function crmWorld({ redisUrl, clickhouseUrl, origin, clock, processName, pause }: CrmWorld) {
  const client = quiet(connectRedis(redisUrl, { name: 'crm', kind: 'loop', timeoutMs: 5_000 }))
  const reading = connectReading(clickhouseUrl, 'crm')
  const writing = connectClickHouse(clickhouseUrl, { application: 'crm', database: DATABASE })
  const dataDir = mkdtempSync(join(tmpdir(), 'ipid-crm-'))
  const secrets = new SecretBox({ dataDir, secretsKey: SECRETS_KEY })
  const tenants = new RedisTenantStore(client)
  const segments = new Segments(client, clock)
  const companies = new ClickHouseCompanies(new QuestionReader(reading), clock)
  const corrections = new CompanyCorrections(() => writing, clock, correctionsLock(client))
  const crm = new RedisCrm(client)
  const send = wireTo(new Destinations({ allowsPrivate: true }), 'ipid/test')
  const syncer = () =>
    new CrmSyncer({
      lease: new Membership({ client, name: 'crm', processName }).share(0),
      ...{ crm, clock, log: silent, corrections },
      outgoing: new OutgoingCompanies(companies, segments),
      open: ({ id, token }) =>
        new HubSpot({ origin, token: secrets.open(token, id), send, clock, ...(pause && { pause }) }),
      getTenant: (id) => tenants.getTenant(id),
    })
  return {
    ...{ client, tenants, segments, companies, corrections, crm, syncer },
    admin: new CrmAdmin({ client, segments, secrets, clock }),
    async close() {
      await Promise.all([reading.close(), writing.close()])
      client.disconnect()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
