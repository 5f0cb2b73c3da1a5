import { Command } from 'commander'
import { StartupError } from '../../run/errors.ts'
import type { CliContext } from '../../terminal/context.ts'
import { printJson, printLine, printLines } from '../../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../terminal/settings-options.ts'
import type { Pipeline } from '../declaration/pipeline.ts'
import type { GroupStatus } from '../declaration/status.ts'

/** `ipid pipeline` */
export function pipelineCommand(context: CliContext): Command {
  const command = new Command('pipeline').option('--json', 'print JSON')
  return addSettings(command, INSTANCE_SETTINGS).action(async (options: { json?: boolean }) => {
    const config = configOf(context, command)
    const [{ ingest }, { drawPipeline, waitingByGroup, describePipeline }] = await Promise.all([
      import('../../../pipelines/ingest.ts'),
      import('./pipeline-diagram.ts'),
    ])
    let streams: readonly GroupStatus[] | undefined
    try {
      streams = await readStreams(config, ingest)
    } catch (error) {
      // The declaration can be shown without an instance.
      if (!(error instanceof StartupError)) throw error
      printLine(context.stderr, `ipid: queue lengths are not shown: ${error.message}`)
    }
    const waiting = streams === undefined ? undefined : waitingByGroup(streams)
    if (options.json) printJson(context.stdout, describePipeline(ingest, waiting))
    else printLines(context.stdout, drawPipeline(ingest, waiting))
  })
}

async function readStreams(config: ReturnType<typeof configOf>, pipeline: Pipeline): Promise<readonly GroupStatus[]> {
  const [{ readingRedis }, { redisUrlOf }, { readStatus }] = await Promise.all([
    import('../../terminal/stores.ts'),
    import('../../terminal/instance.ts'),
    import('../streams/status.ts'),
  ])
  const { streams } = await readingRedis(await redisUrlOf(config), (client) => readStatus(client, pipeline))
  return streams
}
