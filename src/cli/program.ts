import { Command, CommanderError } from 'commander'
import { alertCommand } from '../alerts/commands/alert.ts'
import { companyCommand } from '../companies/corrections/commands/command.ts'
import { segmentCommand } from '../companies/segments/commands/segment.ts'
import { version } from '../config/version.ts'
import { dashboardCommand } from '../dashboard/commands/command.ts'
import { dbCommand } from '../enrichment/commands/command.ts'
import { enrichCommand } from '../enrichment/commands/enrich-command.ts'
import { exportCommand } from '../exports/commands/export.ts'
import { compareCommand } from '../operations/accuracy/commands/compare.ts'
import { learnCommand } from '../operations/accuracy/commands/learn.ts'
import { qualityCommand } from '../operations/accuracy/commands/quality.ts'
import { backupCommand } from '../operations/backup/commands/backup.ts'
import { restoreCommand } from '../operations/backup/commands/restore.ts'
import { deadLetterCommand } from '../operations/dead-letters/commands/dead-letter.ts'
import { demoCommand } from '../operations/demo/commands/demo.ts'
import { eraseCommand } from '../operations/erasure/commands/erase.ts'
import { eventCommand } from '../operations/receipts/commands/event.ts'
import { replayCommand } from '../operations/replay/commands/command.ts'
import { statusCommand } from '../operations/status/commands/status.ts'
import { pipelineCommand } from '../pipeline/commands/pipeline.ts'
import { batchCommand } from '../pipeline/sources/batch/commands/command.ts'
import { syncCommand } from '../pipeline/sources/sync/commands/command.ts'
import { InputError } from '../run/errors.ts'
import { joinedLines } from '../run/visible-text.ts'
import { keyCommand } from '../tenants/commands/key.ts'
import { sourceCommand } from '../tenants/commands/source.ts'
import { tenantCommand } from '../tenants/commands/tenant.ts'
import { usageCommand } from '../tenants/commands/usage.ts'
import { rulesCommand } from '../tenants/rules/commands/command.ts'
import type { CliContext } from '../terminal/context.ts'
import { printLine, printLines } from '../terminal/print.ts'
import { sqlCommand } from './sql.ts'
import { loadPipelineSettings, startCommand } from './start/command.ts'
import { compileCommand, roleCommand } from './start/hidden-commands.ts'
import { versionCommand } from './version.ts'

/** One file each. A command imports what it needs only when it runs, so that `--help` stays fast. */
const COMMANDS = [
  startCommand,
  tenantCommand,
  keyCommand,
  sourceCommand,
  rulesCommand,
  segmentCommand,
  alertCommand,
  exportCommand,
  usageCommand,
  companyCommand,
  dashboardCommand,
  batchCommand,
  syncCommand,
  sqlCommand,
  statusCommand,
  pipelineCommand,
  deadLetterCommand,
  eventCommand,
  enrichCommand,
  qualityCommand,
  compareCommand,
  learnCommand,
  dbCommand,
  demoCommand,
  backupCommand,
  restoreCommand,
  replayCommand,
  eraseCommand,
  versionCommand,
]
const HIDDEN_COMMANDS = [roleCommand, compileCommand]

const EXIT_FAILED = 1
const EXIT_USAGE = 2

/**
 * Runs one command of the command line.
 * @param args without `node` and the script
 * @returns the exit code: 0, 1 when it failed, 2 on wrong usage; an error is one line on standard error
 */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  let exitCode = 0
  const program = new Command('ipid')
    .description('Finds the organisation behind an IP address and turns visitor events into accounts in ClickHouse.')
    .version(version(), '--version', 'print the version')
    .helpCommand(false)
  const setExitCode = (code: number) => {
    exitCode = code
  }
  for (const create of COMMANDS) program.addCommand(create(context, setExitCode))
  for (const create of HIDDEN_COMMANDS) program.addCommand(create(context, setExitCode), { hidden: true })
  settle(program, context)
  program.hook('preSubcommand', async (_program, command) => {
    if (command.name() === 'start') await loadPipelineSettings(command)
  })
  try {
    await program.parseAsync([...args], { from: 'user' })
    return exitCode
  } catch (error) {
    return explain(error, context)
  }
}

/** Makes commands throw errors instead of printing them and ending the process. */
function settle(command: Command, context: CliContext): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => printLines(context.stdout, text),
    writeErr: () => {},
  })
  for (const child of command.commands) settle(child, context)
}

function explain(error: unknown, { stderr }: CliContext): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0
    printLine(stderr, `ipid: ${usageProblem(error)}`)
    return EXIT_USAGE
  }
  const { message } = error as Error
  printLine(stderr, `ipid: ${joinedLines(message)}`)
  return error instanceof InputError ? EXIT_USAGE : EXIT_FAILED
}

/** Commander's message on one line: `error: unknown option '--prot' (Did you mean --port?)`. */
function usageProblem(error: CommanderError): string {
  if (error.code === 'commander.help') return 'give a command: see ipid --help'
  const problem = joinedLines(error.message.replace(/^error: /, ''))
  return problem.includes('Did you mean') ? problem : `${problem} (see --help)`
}
