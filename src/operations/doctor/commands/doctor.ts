import { Command } from 'commander'
import { type Config, type Environment, ROLES, type Role, readRoles } from '../../../config/config.ts'
import type { Setting } from '../../../config/setting.ts'
import { SETTINGS } from '../../../config/settings.ts'
import { numbered } from '../../../run/counted.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printLine, printPairs } from '../../../terminal/print.ts'
import { ALL_SETTINGS, addPipelineSettings, addSettings, rightConfigOf } from '../../../terminal/settings-options.ts'
import type { Finding, Level, Subject } from '../finding.ts'

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
    const report = await examined(context.env, { ...rightConfigOf(context, command), roles, ofPipeline })
    if (!report.ok) setExitCode(HAS_PROBLEMS)
    if (options.json) printJson(context.stdout, report)
    else printReport(context.stdout, report)
  })
}

/** The settings that are judged. */
interface Judged {
  readonly config: Config
  /** A line for each wrong setting. */
  readonly problems: readonly string[]
  /** Undefined: those of the running instance, or all. */
  readonly roles: readonly Role[] | undefined
  readonly ofPipeline: readonly Setting<unknown>[]
}

/** The report of the doctor, without secrets. */
export async function examined(env: Environment, { config, problems, roles, ofPipeline }: Judged): Promise<Report> {
  const [
    { examine },
    { checkSecretFiles, checkSettings, variablesOf, withoutDefaultsOf },
    { subjectOf },
    { secretRemover, secretTextsOf, valuesByVariable },
  ] = await Promise.all([
    import('../examine.ts'),
    import('../settings.ts'),
    import('../subject.ts'),
    import('../without-secrets.ts'),
  ])
  const { subject, findings: ofInstance } = await subjectOf({ config, env, roles })
  const settings: readonly Setting<unknown>[] = [...Object.values(SETTINGS), ...ofPipeline]
  const found = [
    ...checkSettings(problems, env, variablesOf(settings)),
    ...(await checkSecretFiles(env, settings)),
    ...ofInstance,
    ...withoutDefaultsOf(problems, await examine(subject)),
  ]
  const { running } = subject
  const { whole, urls } = secretTextsOf(settings, env, valuesByVariable(config))
  const ofRunning = [running?.redis_url, running?.clickhouse_url, running?.analyst_url]
  const findings = found.map(secretRemover(env, [...ofRunning, ...urls], whole))
  return reportOf(findings, subject)
}

/** The output of `ipid doctor --json`. */
export interface Report {
  /** Whether there is no problem. */
  readonly ok: boolean
  readonly problems: number
  readonly risks: number
  readonly data_dir: string
  /** Whether an ipid is ready on `data_dir`, so that its stores were asked. */
  readonly running: boolean
  /** Problems, then risks, then fine findings. */
  readonly findings: readonly Finding[]
}

const LEVELS: readonly Level[] = ['problem', 'risk', 'fine']

function reportOf(findings: readonly Finding[], { config, dir, running }: Subject): Report {
  const of = (level: Level) => findings.filter((finding) => finding.level === level)
  const [problems, risks] = [of('problem').length, of('risk').length]
  return {
    ...{ ok: problems === 0, problems, risks, data_dir: dir?.path ?? config.dataDir, running: running !== undefined },
    findings: LEVELS.flatMap(of),
  }
}

/** Prints a report as one page: first the problems, last the fine findings. */
function printReport(out: NodeJS.WritableStream, report: Report): void {
  const { problems, risks, findings, data_dir: dataDir, running } = report
  const counts = `${numbered(problems, 'problem')}, ${numbered(risks, 'risk')}`
  const what = running ? `the ipid that runs on ${dataDir}` : `a start on ${dataDir}; none runs there now`
  printLine(out, `${counts}: ${what}`)
  for (const { check, level, seen, why, remedy } of findings) {
    if (level === 'fine') continue
    printLine(out, '')
    printLine(out, `${level === 'problem' ? 'PROBLEM' : 'risk'}  ${check}: ${seen}`)
    if (why !== undefined) printLine(out, `  ${why}`)
    if (remedy !== undefined) printLine(out, `  → ${remedy}`)
  }
  const fine = findings.filter(({ level }) => level === 'fine')
  if (fine.length === 0) return
  printLine(out, '')
  printLine(out, 'fine')
  printPairs(
    out,
    fine.map(({ check, seen }) => [`  ${check}`, seen]),
  )
}
