import { Command } from 'commander'
import { ROLES, readRoles } from '../../../config/config.ts'
import { SETTINGS } from '../../../config/settings.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson } from '../../../terminal/print.ts'
import { ALL_SETTINGS, addPipelineSettings, addSettings, rightConfigOf } from '../../../terminal/settings-options.ts'

const HAS_PROBLEMS = 1

/**
 * `ipid doctor`: judges settings, files, rights, ports, clocks, disks, Redis and ClickHouse, before the first start and on a running
 * installation. Changes nothing.
 */
export async function doctorCommand(context: CliContext, setExitCode: (code: number) => void): Promise<Command> {
  const [{ ingest }, { settingsOf }] = await Promise.all([
    import('../../../../pipelines/ingest.ts'),
    import('../../../pipeline/declaration/pipeline.ts'),
  ])
  const ofPipeline = settingsOf(ingest)
  const command = new Command('doctor')
    .option('--roles <roles>', `${ROLES.join(', ')}: those to start on this machine, with commas (all)`)
    .option('--json', 'print JSON')
  addPipelineSettings(command, ofPipeline)
  return addSettings(command, ALL_SETTINGS).action(async (options: { roles?: string; json?: boolean }) => {
    const roles = options.roles === undefined ? undefined : readRoles(options.roles)
    const { config, problems } = rightConfigOf(context, command)
    const [{ examine }, { checkSettings, withoutDefaultsOf }, { subjectOf }, { secretRemover }, output] =
      await Promise.all([
        import('../examine.ts'),
        import('../settings.ts'),
        import('../subject.ts'),
        import('../without-secrets.ts'),
        import('./doctor-output.ts'),
      ])
    const { env, stdout } = context
    const { subject, findings: ofInstance } = await subjectOf({ config, env, roles })
    const variables = [
      ...Object.values(SETTINGS).map((setting) => setting.env),
      ...ofPipeline.map((setting) => setting.env),
    ]
    const found = [
      ...checkSettings(problems, env, variables),
      ...ofInstance,
      ...withoutDefaultsOf(problems, await examine(subject)),
    ]
    const { running } = subject
    const findings = found.map(secretRemover(env, [running?.redis_url, running?.clickhouse_url, running?.analyst_url]))
    if (findings.some(({ level }) => level === 'problem')) setExitCode(HAS_PROBLEMS)
    const report = output.reportOf(findings, subject)
    if (options.json) printJson(stdout, report)
    else output.printReport(stdout, report)
  })
}
