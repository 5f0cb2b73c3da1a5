import type { PullCopy } from '../../../../../schemas/backup.ts'
import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { keys } from '../../../../stores/redis/keys.ts'
import { readPullState } from './pull-store.ts'

/** Marks per call. */
const PER_CALL = 1_000

/** Copies the progress of pulled sources. A job whose intent is open counts as not created: its lines are fetched again, as repeats. */
export async function* copyPulls(client: RedisClient): AsyncGenerator<PullCopy> {
  for (const id of (await client.smembers(keys.pulledSources())).sort()) {
    // Before the state: a later state may say that marks are not needed any more.
    const found = await client.zrangebyscore(keys.pullMarks(id), '-inf', '+inf', 'WITHSCORES')
    const state = await readPullState(client, id)
    if (state === undefined) continue
    const marks: [string, number][] = []
    for (let at = 0; at < found.length; at += 2) marks.push([found[at]!, Number(found[at + 1])])
    yield { id, state: state as PullCopy['state'], marks }
  }
}

/** Writes a copy. May be repeated. */
export async function addPullCopy(client: RedisClient, { id, state, marks }: PullCopy): Promise<void> {
  await client.set(keys.pullState(id), JSON.stringify(state))
  for (let at = 0; at < marks.length; at += PER_CALL) {
    const pairs = marks.slice(at, at + PER_CALL).flatMap(([name, atMs]) => [atMs, name])
    await client.zadd(keys.pullMarks(id), ...pairs)
  }
}
