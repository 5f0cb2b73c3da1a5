import { Command } from 'commander'
import type { Config } from '../../../config/config.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson } from '../../../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../../terminal/settings-options.ts'
import type { SystemStatus, Verdict } from '../system-status.ts'

const EXIT_CODES: Readonly<Record<Verdict['level'], number>> = { ok: 0, warning: 1, stalled: 2 }

/**
 * `ipid status`: shows the status of the system, with a verdict in the first line. The exit code is 0 when it is ok, 1 for a warning, and 2
 * when it is stalled or nothing runs.
 */
export function statusCommand(context: CliContext, setExitCode: (code: number) => void): Command {
  const command = new Command('status').option('--json', 'print JSON')
  return addSettings(command, INSTANCE_SETTINGS).action(async (options: { json?: boolean }) => {
    const config = configOf(context, command)
    setExitCode(EXIT_CODES.stalled)
    const status = await readSystem(config)
    setExitCode(EXIT_CODES[status.verdict.level])
    if (options.json) return printJson(context.stdout, status)
    const { printStatus } = await import('./status-output.ts')
    printStatus(context.stdout, status)
  })
}

async function readSystem(given: Config): Promise<SystemStatus> {
  const [
    { readingRedis },
    { clickhouseUrlOf, followed, instanceOf, redisUrlOf },
    { collectStatus, withoutRedis },
    roles,
  ] = await Promise.all([
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
  const { plans, dataDir } = config
  const sourcesOf = (redis: RedisClient) => roles.statusSources({ redis, clickhouseUrl, pipeline, plans, dataDir })
  return await readingRedis(redisUrl, (redis) => collectStatus(sourcesOf(redis), limits), {
    unreachable: (redis, reason) => collectStatus(withoutRedis(sourcesOf(redis), reason), limits),
  })
}
