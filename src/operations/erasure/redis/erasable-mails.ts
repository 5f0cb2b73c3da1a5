import { type ErasedRecords, eraseAddress } from '../../../alerts/erase-address.ts'
import { InputError } from '../../../run/errors.ts'
import type { SecretBox } from '../../../secrets/secret-box.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import type { ErasableMails } from '../ports.ts'

/** E-mail addresses in Redis, for an erasure. */
export class RedisErasableMails implements ErasableMails {
  readonly #client: RedisClient
  readonly #secrets: Pick<SecretBox, 'digest'>

  constructor(client: RedisClient, secrets: Pick<SecretBox, 'digest'>) {
    this.#client = client
    this.#secrets = secrets
  }

  async remove(tenantId: string, address: string, nowMs: number): Promise<ErasedRecords> {
    const people = await this.#client.hvals(keys.people(tenantId))
    if (people.some((json) => (JSON.parse(json) as { email?: string }).email?.toLowerCase() === address))
      throw new InputError('this address belongs to a person of the workspace: remove them first in Settings > People')
    return await eraseAddress(this.#client, this.#secrets, { tenantId, address }, nowMs)
  }
}
