import { Destinations } from '../alerts/sending/destinations.ts'
import { ClickHouseCompanies, namedSources } from '../companies/companies.ts'
import { CompanyCorrections } from '../companies/corrections/corrections.ts'
import { correctionsLock } from '../companies/corrections/lock.ts'
import { Segments } from '../companies/segments/segments.ts'
import { version } from '../config/version.ts'
import type { ProcessContext } from '../process/context.ts'
import type { Service } from '../run/service.ts'
import { SecretBox } from '../secrets/secret-box.ts'
import { connectReading, QuestionReader, writerOf } from '../stores/clickhouse/reader.ts'
import { Membership } from '../stores/redis/membership.ts'
import { RedisTenantStore } from '../tenants/redis/tenant-store.ts'
import { zonesOf } from '../tenants/tenancy.ts'
import { HubSpot } from './hubspot/hubspot.ts'
import { createCrmMetrics } from './metrics.ts'
import { OutgoingCompanies } from './outgoing.ts'
import { RedisCrm } from './redis/crm-store.ts'
import { wireTo } from './request.ts'
import { CrmSyncer } from './syncer.ts'

/** Brings CRMs up to date, in one of the processes that have it. */
export function crmRole(context: ProcessContext): Service[] {
  const { config, telemetry, leases } = context
  const { log, clock, metrics } = telemetry
  const { processName, clickhouseUrl, hubspotUrl: origin, webhookPrivate } = config
  const redis = context.connectLoop('crm')
  const tenants = new RedisTenantStore(redis)
  const reading = connectReading(clickhouseUrl, 'crm')
  const writer = writerOf(clickhouseUrl, 'corrections')
  const companies = new ClickHouseCompanies(new QuestionReader(reading), clock, namedSources(tenants), zonesOf(tenants))
  const crm = new RedisCrm(redis)
  const secrets = new SecretBox(config)
  const send = wireTo(new Destinations({ allowsPrivate: webhookPrivate === 'on' }), `ipid/${version()}`)
  const measures = createCrmMetrics(metrics, crm)
  const syncer = new CrmSyncer({
    lease: new Membership({ client: leases, name: 'crm', processName, log }).share(0),
    ...{ crm, clock, log },
    outgoing: new OutgoingCompanies(companies, new Segments(redis, clock)),
    corrections: new CompanyCorrections(writer.client, clock, correctionsLock(redis)),
    open: ({ id, token }) => new HubSpot({ origin, token: secrets.open(token, id), send, clock }),
    getTenant: (id) => tenants.getTenant(id),
    onRun: (run) => measures.ran(run),
  })
  const connections: Service = {
    name: 'connections of CRMs',
    start: async () => {},
    stop: async () => {
      await Promise.all([reading.close(), writer.close()])
    },
  }
  return [connections, syncer]
}
