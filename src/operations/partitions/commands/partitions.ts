import { Command } from 'commander'
import { SETTINGS, type SettingName } from '../../../config/settings.ts'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printLine, printPairs } from '../../../terminal/print.ts'
import { addSettings, configOf } from '../../../terminal/settings-options.ts'
import type { Raised, RaiseProgress } from '../redis/raise.ts'

const PARTITIONS_SETTINGS: readonly SettingName[] = ['dataDir', 'redisUrl', 'redisFsync', 'redisMaxMemoryBytes']

const SAY_EVERY_MS = 5_000

/** `ipid partitions N`: more partitions for a service that is drained and stopped. */
export function partitionsCommand(context: CliContext): Command {
  const command = new Command('partitions')
    .description('raise the number of partitions; ipid has to be drained and stopped, and what it remembers stays')
    .argument('<n>', 'how many there are to be; then start with PARTITIONS set to it')
    .option('--json', 'print JSON')
  return addSettings(command, PARTITIONS_SETTINGS).action(async (n: string, { json }: { json?: boolean }) => {
    const to = numberOf(n)
    const config = configOf(context, command)
    const [{ withOwnRedis }, { withRedis }, { whileNobodyRewrites }, { raisePartitions }] = await Promise.all([
      import('../../backup/commands/own-stores.ts'),
      import('../../../terminal/stores.ts'),
      import('../../../terminal/rewrite-lease.ts'),
      import('../redis/raise.ts'),
    ])
    const [{ ingest }, { systemClock }, { createLogger }] = await Promise.all([
      import('../../../../pipelines/ingest.ts'),
      import('../../../run/clock.ts'),
      import('../../../telemetry/logger.ts'),
    ])
    const log = await createLogger({ level: 'warn', name: 'partitions', pretty: context.stderr.isTTY === true })
    const onProgress = progressTo((line) => printLine(context.stderr, line))
    const raised = await withOwnRedis({ config, env: context.env, log }, (redisUrl) =>
      withRedis(redisUrl, (client) =>
        whileNobodyRewrites(client, 'a change of partitions', (assertHeld) =>
          raisePartitions(client, { pipeline: ingest, clock: systemClock, to, assertHeld, onProgress }),
        ),
      ),
    )
    print(context, raised, json === true)
  })
}

function numberOf(text: string): number {
  try {
    return SETTINGS.partitions.read(text)
  } catch (error) {
    throw new InputError(`partitions ${JSON.stringify(text)}: ${(error as Error).message}`)
  }
}

/** A line for each partition, and one now and then. */
function progressTo(say: (line: string) => void): (progress: RaiseProgress) => void {
  let last = -1
  let saidAtMs = 0
  return ({ partition, partitions, claims }) => {
    if (partition === last && performance.now() - saidAtMs < SAY_EVERY_MS) return
    last = partition
    saidAtMs = performance.now()
    say(`partition ${partition + 1} of ${partitions}: ${claims} identities moved so far`)
  }
}

function print({ stdout }: CliContext, { from, to, claims, letters }: Raised, json: boolean): void {
  if (json) {
    printJson(stdout, { partitions: to, before: from, identities_moved: claims, dead_letters_moved: letters })
    return
  }
  printPairs(stdout, [
    ['partitions', to],
    ['before', from],
    ['identities moved', claims],
    ['dead letters moved', letters],
    ['start with', `PARTITIONS=${to}`],
  ])
}
