import { RedisAlerts } from '../../alerts/redis/alert-store.ts'
import { RedisCrm } from '../../crm/redis/crm-store.ts'
import { numbered } from '../../run/counted.ts'
import { SecretBox } from '../../secrets/secret-box.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { RedisTenantStore } from '../../tenants/redis/tenant-store.ts'
import { type Finding, findingsOf, type Subject } from './finding.ts'
import { SkippedError } from './run-checks.ts'

/** Tenants whose secrets are tried. */
const TENANTS_MAX = 200

interface Sealed {
  /** As users name it. */
  readonly what: string
  readonly owner: string
  readonly secret: string
}

/** Whether the secrets of sources, alerts and CRMs can be decrypted here. */
export async function checkSecrets(client: RedisClient, { config }: Subject): Promise<Finding[]> {
  const { problem, fine } = findingsOf('secrets')
  const sealed = await sealedIn(client)
  if (sealed.length === 0) throw new SkippedError('nothing is encrypted')
  if (config.given.includes('secretsKey') && config.secretsKey === undefined) {
    return [fine('the running ipid has SECRETS_KEY and this shell has not, so its secrets were not tried')]
  }
  const box = new SecretBox(config)
  const failures = sealed.flatMap(({ what, owner, secret }) => {
    try {
      box.open(secret, owner)
      return []
    } catch (error) {
      return [`the secret of ${what} ${(error as Error).message}`]
    }
  })
  const [first] = failures
  if (first === undefined) return [fine(`${numbered(sealed.length, 'secret')} can be decrypted`)]
  const more = failures.length > 1 ? `${failures.length} secrets cannot be decrypted; the first: ` : ''
  const at = first.lastIndexOf(': ')
  const why =
    'These sources fetch nothing or refuse requests that they cannot verify, these alerts send nothing, and these connections stop.'
  return [problem(more + first.slice(0, at), why, first.slice(at + 2))]
}

async function sealedIn(client: RedisClient): Promise<Sealed[]> {
  const [tenants, alerts, crms] = [new RedisTenantStore(client), new RedisAlerts(client), new RedisCrm(client)]
  const ids = (await tenants.listTenants()).slice(0, TENANTS_MAX).map(({ id }) => id)
  const found = ids.map(async (id) => {
    const [sources, all, crm] = await Promise.all([tenants.listSources(id), alerts.list(id), crms.get(id)])
    return [
      ...sources.map(({ prefix, source }) => ({ what: `source ${prefix}`, owner: prefix, secret: source.secret })),
      ...all.map((alert) => ({ what: `alert ${alert.name}`, owner: alert.id, secret: alert.secret })),
      ...(crm === undefined ? [] : [{ what: `the connection of ${id} to HubSpot`, owner: crm.id, secret: crm.token }]),
    ]
  })
  return (await Promise.all(found)).flat().flatMap(({ secret, ...facts }) => (secret ? [{ ...facts, secret }] : []))
}
