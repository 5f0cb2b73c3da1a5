import { Command } from 'commander'
import { type Config, InputProblems, ROLES, readRoles } from '../../config/config.ts'
import type { CliContext } from '../../terminal/context.ts'
import { ALL_SETTINGS, addPipelineSettings, addSettings, configOf } from '../../terminal/settings-options.ts'

interface StartFlags {
  readonly roles?: string
  readonly readyFile?: string
  readonly json?: boolean
}

/** `ipid start`: runs all roles, or some, until it is stopped. */
export async function startCommand(context: CliContext, setExitCode: (code: number) => void): Promise<Command> {
  const [{ ingest }, { outlineOf, settingsOf, activePipeline }] = await Promise.all([
    import('../../../pipelines/ingest.ts'),
    import('../../pipeline/declaration/pipeline.ts'),
  ])
  const command = new Command('start')
    .option('--roles <roles>', `${ROLES.join(', ')}: some of them, with commas (all)`)
    .option('--ready-file <path>', 'file that gets one JSON object when every role is ready')
    .option('--json', 'print that JSON object instead of text')
  addSettings(command, ALL_SETTINGS)
  const ownSettings = settingsOf(ingest)
  addPipelineSettings(command, ownSettings)
  return command.action(async (flags: StartFlags) => {
    const problems = new InputProblems()
    const roles = problems.of(() => (flags.roles === undefined ? undefined : readRoles(flags.roles)))
    const config = problems.of(() => configOf(context, command)) as Config
    problems.throwIfAny()
    const { runStart } = await import('./start.ts')
    const pipeline = outlineOf(activePipeline(ingest, config.own))
    const options = { config, roles, readyFile: flags.readyFile, json: flags.json === true, pipeline, ownSettings }
    setExitCode(await runStart(options, context))
  })
}
