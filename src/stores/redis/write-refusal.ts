import { Cluster } from 'ioredis'
import { numbered } from '../../run/counted.ts'
import type { RedisClient } from './connect.ts'
import { replicasNeededBy } from './durability/replicated.ts'
import { replyCode } from './errors.ts'
import { keys } from './keys.ts'
import { mastersOf } from './nodes.ts'

/**
 * Why Redis takes no writes now, in a few words for people; undefined when it takes them. Asks with a write that changes nothing:
 * the empty text at the end of a key that never exists. Rejects when Redis does not answer.
 */
export async function writeRefusal(client: RedisClient): Promise<string | undefined> {
  const missing = await missingReplicas(client)
  if (missing !== undefined) return missing
  const probed = client instanceof Cluster ? await partitionProbes(client) : [keys.writeProbe(undefined)]
  const refusals = await Promise.all(
    probed.map((key) => client.setrange(key, 0, '').then(() => undefined, refusalText)),
  )
  return refusals.find((text) => text !== undefined)
}

/** ipid itself refuses a write that fewer than `waitReplicas` replicas have. */
async function missingReplicas(client: RedisClient): Promise<string | undefined> {
  const needed = replicasNeededBy(client)
  if (needed === 0) return undefined
  const infos = await Promise.all(mastersOf(client).map((master) => master.info('replication')))
  const online = Math.min(...infos.map(onlineReplicas))
  return online < needed ? `it has ${online} of the ${numbered(needed, 'replica')} that a write needs` : undefined
}

/** The replicas that are connected and have caught up. @param info its section `replication` */
export function onlineReplicas(info: string): number {
  return info.match(/^slave\d+:.*\bstate=online\b/gm)?.length ?? 0
}

/** One key of each partition, so that every master with events is asked. */
async function partitionProbes(client: Cluster): Promise<string[]> {
  const partitions = Number((await client.get(keys.partitions())) ?? 0)
  return Array.from({ length: partitions }, (_, partition) => keys.writeProbe(partition))
}

/** Error codes for a write that Redis refuses only for the moment. */
const REFUSALS: Readonly<Record<string, string>> = {
  OOM: 'its memory is full',
  READONLY: 'it is a replica',
  NOREPLICAS: 'it has too few replicas',
}

/**
 * The refusal in an error of a write; undefined: the error concerns this write only, such as a missing right.
 * @throws the error when Redis did not answer
 */
function refusalText(error: Error): string | undefined {
  const code = replyCode(error)
  if (code === undefined) throw error
  if (code === 'MISCONF') return diskRefusal(error.message)
  return REFUSALS[code]
}

/** The words for a full disk, which are the same in every message about one. */
export const DISK_FULL = 'the disk is full'

function diskRefusal(message: string): string {
  if (/no space left/i.test(message)) return DISK_FULL
  const [, reason] = /AOF file: (.+)$/.exec(message) ?? []
  return reason === undefined ? 'it cannot write to its disk' : `it cannot write to its disk: ${reason}`
}
