import { Command } from 'commander'
import type { CliContext } from '../context.ts'
import { printJson, printTable } from '../print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../settings-options.ts'

/** `ipid status`: what waits, per stream, lane, partition and group. */
export function statusCommand(context: CliContext): Command {
  const command = new Command('status')
    .description('show what waits in the streams, for every consumer group')
    .option('--json', 'print JSON')
  return addSettings(command, INSTANCE_SETTINGS).action(async (options: { json?: boolean }) => {
    const config = configOf(context, command)
    const [{ withRedis }, { redisUrlOf }, { readStatus }, { ingest }] = await Promise.all([
      import('../stores.ts'),
      import('../instance.ts'),
      import('../../redis/streams/status.ts'),
      import('../../../pipelines/ingest.ts'),
    ])
    const { readRetention } = await import('../../redis/retention/records.ts')
    const { status, retention } = await withRedis(await redisUrlOf(config), async (client) => ({
      status: await readStatus(client, ingest),
      retention: await readRetention(client),
    }))
    if (options.json) return printJson(context.stdout, { ...status, retention })
    const headings = ['STREAM', 'LANE', 'PARTITION', 'GROUP', 'LAG', 'PENDING', 'EVENTS', 'OLDEST']
    const rows = status.streams.map((group) => [
      group.stream,
      group.lane,
      group.partition,
      group.group,
      group.lag_entries,
      group.pending_entries,
      group.waiting_events,
      `${(group.oldest_ms / 1_000).toFixed(1)} s`,
    ])
    printTable(context.stdout, headings, rows)
    context.stdout.write(`\n${status.dead_letters} dead letters\n`)
    for (const { store, at, removed } of retention) {
      const what = store === 'archive' ? 'objects of the archive' : 'rows'
      context.stdout.write(`retention: ${removed} old ${what} removed at ${at}\n`)
    }
  })
}
