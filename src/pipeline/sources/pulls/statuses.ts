import type { Caller } from '../../../stores/redis/pipelined-calls.ts'
import type { StoredSource } from '../../../tenants/stores.ts'
import type { Pipeline } from '../../declaration/pipeline.ts'
import { readPullState } from './redis/pull-store.ts'
import { type PullStatus, pullStatusOf } from './state.ts'

/** The statuses of the sources that ipid pulls, by source id. Other and revoked sources are left out. */
export async function pullStatuses(
  client: Caller,
  { sources: entries }: Pick<Pipeline, 'sources'>,
  sources: readonly StoredSource[],
): Promise<ReadonlyMap<string, PullStatus>> {
  const found = await Promise.all(
    sources.map(async ({ prefix, source: { kind, pull: facts }, revokedAt }) => {
      const pull = entries.find(({ from }) => from.name === kind)?.from.pull
      if (pull === undefined || facts === undefined || revokedAt !== undefined) return []
      return [[prefix, pullStatusOf(pull, facts, await readPullState(client, prefix))] as const]
    }),
  )
  return new Map(found.flat())
}
