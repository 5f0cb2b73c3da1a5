import { randomBytes } from 'node:crypto'
import { CRM_LIMITS, CRM_TOKEN } from '../../schemas/crm.ts'
import type { CrmAnswer } from '../../schemas/dashboard/crm.ts'
import { Segments } from '../companies/segments/segments.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../run/clock.ts'
import { InputError } from '../run/errors.ts'
import { SecretBox } from '../secrets/secret-box.ts'
import type { RedisClient } from '../stores/redis/connect.ts'
import { type Connection, RedisCrm } from './redis/crm-store.ts'

interface CrmAdminOptions {
  readonly client: RedisClient
  readonly segments: Pick<Segments, 'get' | 'existing'>
  readonly secrets: Pick<SecretBox, 'seal'>
  readonly clock: Clock
}

/**
 * Manages the connection of a tenant to its CRM. Methods throw `InputError` with a one-line reason when the request is invalid, and
 * `UnavailableError` when the store is down. Requests to the CRM are made by the runs only.
 */
export class CrmAdmin {
  readonly crm: RedisCrm
  readonly #options: CrmAdminOptions

  constructor(options: CrmAdminOptions) {
    this.crm = new RedisCrm(options.client)
    this.#options = options
  }

  /** Connects, or replaces the connection. Its first run begins at once, and checks the token. */
  async connect(
    tenantId: string,
    given: { readonly token: string; readonly segment_id?: string | undefined; readonly by: string },
  ): Promise<void> {
    const { segments, secrets, clock } = this.#options
    const token = given.token.trim()
    const { tokenMinChars: least, tokenMaxChars: most } = CRM_LIMITS
    if (token.length < least || token.length > most || !new RegExp(CRM_TOKEN).test(token)) {
      throw new InputError('this is no access token: copy the one of the private app, for example pat-eu1-…', {
        field: 'token',
      })
    }
    const { segment_id } = given
    if (segment_id !== undefined) await segments.existing(tenantId, segment_id)
    const id = `crm_${randomBytes(6).toString('hex')}`
    await this.crm.connect(tenantId, {
      ...{ id, kind: 'hubspot', token: secrets.seal(token, id), ...(segment_id !== undefined && { segment_id }) },
      ...{ connected_at: new Date(clock.now()).toISOString(), connected_by: given.by },
    })
  }

  /** Records in the CRM stay. @throws InputError when there is no connection */
  async disconnect(tenantId: string): Promise<void> {
    if (!(await this.crm.remove(tenantId))) throw notConnected()
  }

  /** Requests a run now, also of a connection that is stopped. @returns the time of the request, see `CrmState.askedMs` */
  async sync(tenantId: string): Promise<number> {
    await this.get(tenantId)
    return await this.crm.ask(tenantId, this.#options.clock.now())
  }

  /** @throws InputError when there is no connection */
  async get(tenantId: string): Promise<Connection> {
    const found = await this.crm.get(tenantId)
    if (found === undefined) throw notConnected()
    return found
  }

  /** What people see. */
  async shown(tenantId: string): Promise<CrmAnswer> {
    const found = await this.crm.get(tenantId)
    if (found === undefined) return { connection: null }
    const { segment_id } = found
    const [state, asked, segment] = await Promise.all([
      this.crm.state(tenantId),
      this.crm.asked(tenantId),
      segment_id === undefined ? undefined : this.#options.segments.get(tenantId, segment_id),
    ])
    const { kind, connected_at, connected_by, stopped } = found
    const isDue = asked > state.askedMs || state.nextAtMs <= this.#options.clock.now()
    return {
      connection: {
        ...{ kind, connected_at, connected_by, stopped: stopped ?? null },
        segment: segment_id === undefined ? null : { segment_id, name: segment?.name ?? null },
        running_since: timeOrNull(state.runningSinceMs),
        next_at: stopped !== undefined || isDue ? null : timeOrNull(state.nextAtMs),
        ...{ runs: [...state.runs], refused: [...state.refused] },
      },
    }
  }
}

function timeOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}

function notConnected(): InputError {
  return new InputError('no CRM is connected')
}

/** Manages CRMs over a connection, with the settings of the instance. */
export function crmAdmin(client: RedisClient, config: Config, clock: Clock): CrmAdmin {
  return new CrmAdmin({ client, segments: new Segments(client, clock), secrets: new SecretBox(config), clock })
}
