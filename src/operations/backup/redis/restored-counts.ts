import type { BackupFigures } from '../../../../schemas/backup.ts'
import { copyPulls } from '../../../pipeline/sources/pulls/redis/pull-copies.ts'
import { partitionsOf } from '../../../pipeline/streams/topology.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'

/** The figures of a backup that a restored Redis has. */
export async function restoredCounts(
  client: RedisClient,
): Promise<Pick<BackupFigures, 'tenants' | 'keys' | 'pulls' | 'dead_letters'>> {
  let pulls = 0
  for await (const _ of copyPulls(client)) pulls++
  let letters = 0
  const partitions = await partitionsOf(client)
  for (let partition = 0; partition < partitions; partition++) letters += await client.xlen(keys.dead(partition))
  return {
    tenants: await client.hlen(keys.tenants()),
    keys: await client.hlen(keys.apiKeys()),
    pulls,
    dead_letters: letters,
  }
}
