import { Command, CommanderError } from 'commander'
import { version } from '../config/version.ts'
import { InputError } from '../core/run/errors.ts'
import { joinedLines } from '../core/run/visible-text.ts'
import { deadLetterCommand } from './admin/dead-letter.ts'
import { eventCommand } from './admin/event.ts'
import { keyCommand } from './admin/key.ts'
import { partitionsCommand } from './admin/partitions.ts'
import { pipelineCommand } from './admin/pipeline.ts'
import { sqlCommand } from './admin/sql.ts'
import { statusCommand } from './admin/status.ts'
import { tenantCommand } from './admin/tenant.ts'
import { usageCommand } from './admin/usage.ts'
import { backupCommand } from './backup/backup.ts'
import { restoreCommand } from './backup/restore.ts'
import { batchCommand } from './batch/command.ts'
import type { CliContext } from './context.ts'
import { dashboardCommand } from './dashboard/command.ts'
import { dbCommand } from './db/command.ts'
import { enrichCommand } from './enrich/command.ts'
import { eraseCommand } from './erase/erase.ts'
import { printLine, printLines } from './print.ts'
import { replayCommand } from './replay/command.ts'
import { rulesCommand } from './rules/command.ts'
import { startCommand } from './start/command.ts'
import { compileCommand } from './start/compile-command.ts'
import { roleCommand } from './start/role-command.ts'

/** Each is one file; what a command needs to run is imported when it runs, so that `--help` stays fast. */
const COMMANDS = [
  startCommand,
  tenantCommand,
  keyCommand,
  rulesCommand,
  usageCommand,
  dashboardCommand,
  batchCommand,
  sqlCommand,
  statusCommand,
  pipelineCommand,
  deadLetterCommand,
  eventCommand,
  enrichCommand,
  dbCommand,
  backupCommand,
  restoreCommand,
  partitionsCommand,
  replayCommand,
  eraseCommand,
]
const HIDDEN_COMMANDS = [roleCommand, compileCommand]

const EXIT_FAILED = 1
const EXIT_USAGE = 2

/**
 * Runs one command of the command line.
 * @param args without the names of node and of the script
 * @returns the exit code: 0, 1 when it failed, 2 when it was called wrongly; the error is one line on standard error
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
  try {
    await program.parseAsync([...args], { from: 'user' })
    return exitCode
  } catch (error) {
    return explain(error, context)
  }
}

/** Commands print nothing about errors themselves and never end the process. */
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
  if (error.code === 'commander.help') return 'which command? See ipid --help'
  const problem = joinedLines(error.message.replace(/^error: /, ''))
  return problem.includes('Did you mean') ? problem : `${problem} (see --help)`
}
