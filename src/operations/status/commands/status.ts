import { Command } from 'commander'
import type { Config } from '../../../config/config.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson } from '../../../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../../terminal/settings-options.ts'
import type { SystemStatus } from '../system-status.ts'

/** `ipid status`: shows the status of the system, with a verdict in the first line. */
export function statusCommand(context: CliContext): Command {
  const command = new Command('status').option('--json', 'print JSON')
  return addSettings(command, INSTANCE_SETTINGS).action(async (options: { json?: boolean }) => {
    const status = await readSystem(configOf(context, command))
    if (options.json) return printJson(context.stdout, status)
    const { printStatus } = await import('./status-output.ts')
    printStatus(context.stdout, status)
  })
}

async function readSystem(given: Config): Promise<SystemStatus> {
  const [{ readingRedis }, { clickhouseUrlOf, followed, instanceOf, redisUrlOf }, { collectStatus }, roles] =
    await Promise.all([
      import('../../../terminal/stores.ts'),
      import('../../../terminal/instance.ts'),
      import('../collect.ts'),
      import('../role/sources.ts'),
    ])
  const instance = await instanceOf(given)
  const config = instance === undefined ? given : followed(given, instance)
  // Loading the code of the pipeline takes longer than all questions.
  const pipeline = instance?.pipeline ?? (await import('../../../../pipelines/ingest.ts')).ingest
  const redisUrl = await redisUrlOf(config)
  // REDIS_URL may be set without CLICKHOUSE_URL.
  const clickhouseUrl = await clickhouseUrlOf(config).catch(() => undefined)
  const limits = roles.stallLimits(config, pipeline)
  return await readingRedis(redisUrl, (redis) =>
    collectStatus(roles.statusSources({ redis, clickhouseUrl, pipeline, plans: config.plans }), limits),
  )
}
