import { SAMPLE_TENANT } from '../../../schemas/tenant.ts'
import type { Address } from '../../pipeline/event/address.ts'
import type { Enrichment } from '../../pipeline/event/enrichment.ts'
import { utcDay } from '../../pipeline/event/outcomes.ts'
import type { Clock } from '../../run/clock.ts'
import { InputError } from '../../run/errors.ts'
import { Random } from '../../run/random.ts'
import type { TenantAdmin } from '../../tenants/admin.ts'
import type { Tenant } from '../../tenants/tenancy.ts'
import { type DemoVisitors, findVisitors } from './organisations.ts'
import { demoVisits } from './visits.ts'

const DAYS = 30
const ORGANISATIONS = 160
const NOISE_NETWORKS = 60
/** Always the same organisations, so that visits of later days continue those of earlier ones. */
const SEED = 1
const DAY_MS = 86_400_000
/** Events of a piece. Other work of the process runs between two pieces. */
const PIECE_EVENTS = 200

interface SampleOptions {
  readonly admin: Pick<TenantAdmin, 'listTenants' | 'createTenant' | 'setTenant'>
  /** Stores NDJSON as a batch job of the tenant. */
  readonly upload: (tenant: Tenant, pieces: AsyncIterable<Buffer>) => Promise<void>
  /** As the service would. */
  readonly enrich: (address: Address) => Enrichment
  readonly clock: Clock
  /** Called when no tenant shows them any more. */
  readonly onUnused: () => void
}

/**
 * Made-up visits for people who have none yet. They are in a tenant of their own, so they count for no quota, alert or export of
 * another. A tenant that shows them has a mark. Its people can read them, and every change is refused.
 */
export class Sample {
  readonly #options: SampleOptions
  #visitors: Promise<DemoVisitors> | undefined

  constructor(options: SampleOptions) {
    this.#options = options
  }

  /**
   * Lets the people of a tenant see the visits, and makes those of the last 30 days that are missing. Two calls at once make the same
   * ones, which are stored once.
   * @returns the tenant that holds them
   * @throws InputError when another tenant has its name, or they are being removed
   */
  async show(tenantId: string): Promise<string> {
    const { admin, clock } = this.#options
    // First, so that no removal begins while the visits are made.
    await admin.setTenant(tenantId, { shows_sample: true })
    const nowMs = clock.now()
    const today = utcDay(nowMs)
    const known = (await admin.listTenants()).find(({ id }) => id === SAMPLE_TENANT)
    if (known?.deleting) throw new InputError('the sample data are being removed: try again in a minute')
    if (known !== undefined && known.sampleUntil === undefined) {
      throw new InputError(`a workspace of yours is called ${SAMPLE_TENANT}, so there is no place for sample data`)
    }
    const until = known?.sampleUntil ?? utcDay(nowMs - DAYS * DAY_MS)
    const days = Math.min(DAYS, (Date.parse(today) - Date.parse(until)) / DAY_MS)
    // The mark of a new tenant says that it lacks all days.
    const tenant = known ?? (await admin.createTenant(SAMPLE_TENANT, { sample_until: until }))
    if (days <= 0) return tenant.id
    await this.#options.upload(tenant, this.#lines(days, nowMs))
    await admin.setTenant(tenant.id, { sample_until: today })
    return tenant.id
  }

  /** Takes the visits away from the people of a tenant. */
  async hide(tenantId: string): Promise<string> {
    const { admin, onUnused } = this.#options
    await admin.setTenant(tenantId, { shows_sample: false })
    if (!isShown(await admin.listTenants())) onUnused()
    return SAMPLE_TENANT
  }

  async *#lines(days: number, nowMs: number): AsyncGenerator<Buffer> {
    const wanted = { organisations: ORGANISATIONS, noise: NOISE_NETWORKS }
    this.#visitors ??= findVisitors(new Random(SEED), this.#options.enrich, wanted)
    const visits = demoVisits({ ...(await this.#visitors), seed: Math.floor(nowMs / DAY_MS), days, nowMs })
    let lines: string[] = []
    for (const visit of visits) {
      lines.push(JSON.stringify(visit))
      if (lines.length < PIECE_EVENTS) continue
      yield Buffer.from(`${lines.join('\n')}\n`)
      lines = []
    }
    if (lines.length > 0) yield Buffer.from(`${lines.join('\n')}\n`)
  }
}

/** Whether any tenant shows the visits. */
export function isShown(tenants: readonly Tenant[]): boolean {
  return tenants.some(({ showsSample, deleting }) => showsSample === true && !deleting)
}
