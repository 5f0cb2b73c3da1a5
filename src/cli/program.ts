import { Command, CommanderError } from 'commander'
import { version } from '../config/version.ts'
import { InputError } from '../run/errors.ts'
import { joinedLines } from '../run/visible-text.ts'
import type { CliContext } from '../terminal/context.ts'
import { printLine, printLines } from '../terminal/print.ts'

type Create = (context: CliContext, setExitCode: (code: number) => void) => Command | Promise<Command>

/** Name and arguments as `--help` shows them; description; the function that creates the command, in a module of its own. */
type Listed = readonly [term: string, about: string, load: () => Promise<Create>]

/** All commands that `--help` shows. Only the module of the one that runs is loaded, because all of them take longer than most commands. */
export const COMMANDS: readonly Listed[] = [
  [
    'start [options]',
    'start the service; every flag is an environment variable too, named in parentheses with the default',
    async () => (await import('./start/command.ts')).startCommand,
  ],
  ['tenant', 'manage tenants', async () => (await import('../tenants/commands/tenant.ts')).tenantCommand],
  ['key', 'manage API keys', async () => (await import('../tenants/commands/key.ts')).keyCommand],
  [
    'source',
    'manage sources: keys that only send events of one tool',
    async () => (await import('../tenants/commands/source.ts')).sourceCommand,
  ],
  [
    'rules',
    'manage rules of a tenant: noise, its own networks, and the owners of other networks',
    async () => (await import('../tenants/rules/commands/command.ts')).rulesCommand,
  ],
  [
    'segment',
    'manage segments: named filters over the companies of a tenant',
    async () => (await import('../companies/segments/commands/segment.ts')).segmentCommand,
  ],
  [
    'alert',
    'manage alerts: when companies are reported, and where',
    async () => (await import('../alerts/commands/alert.ts')).alertCommand,
  ],
  [
    'digest',
    'send people the companies of the week by e-mail, every Monday or every day',
    async () => (await import('../alerts/commands/digest.ts')).digestCommand,
  ],
  [
    'export',
    'write the companies of a segment to the object store by schedule',
    async () => (await import('../exports/commands/export.ts')).exportCommand,
  ],
  [
    'crm',
    'bring the companies of a tenant into HubSpot, and their owners and statuses back',
    async () => (await import('../crm/commands/crm.ts')).crmCommand,
  ],
  [
    'usage [options] <tenant>',
    'show the accounts that a tenant tracked in a month, and its limit',
    async () => (await import('../tenants/commands/usage.ts')).usageCommand,
  ],
  [
    'company',
    'correct companies: at once in every table, for stored events and for new ones',
    async () => (await import('../companies/corrections/commands/command.ts')).companyCommand,
  ],
  [
    'dashboard [options]',
    'print a link that signs in an operator; it works once, for 10 minutes',
    async () => (await import('../dashboard/commands/command.ts')).dashboardCommand,
  ],
  [
    'batch',
    'upload events from files, and follow their jobs',
    async () => (await import('../pipeline/sources/batch/commands/command.ts')).batchCommand,
  ],
  [
    'sync [options] <file...>',
    'send the page views of log files to a source of kind http; a second run sends only new lines, and finds rotated logs by itself',
    async () => (await import('../pipeline/sources/sync/commands/command.ts')).syncCommand,
  ],
  [
    'sql [options] [statement]',
    'run one ClickHouse statement in the database ipid',
    async () => (await import('./sql.ts')).sqlCommand,
  ],
  [
    'status [options]',
    'show a verdict, queue lengths, throughput of the last minute, and the health of the stores',
    async () => (await import('../operations/status/commands/status.ts')).statusCommand,
  ],
  [
    'doctor [options]',
    'find problems and risks in settings, files, rights, ports, clocks, disks and stores, with their remedies',
    async () => (await import('../operations/doctor/commands/doctor.ts')).doctorCommand,
  ],
  [
    'support [options] [file]',
    'write an archive for the person who helps: versions, settings, status, metrics, log, slow statements; without secrets, addresses and names',
    async () => (await import('../operations/support/commands/support.ts')).supportCommand,
  ],
  [
    'pipeline [options]',
    'show the declared pipeline, with the queue length of each consumer group',
    async () => (await import('../pipeline/commands/pipeline.ts')).pipelineCommand,
  ],
  [
    'dead-letter',
    'list, retry or discard events that could not be processed',
    async () => (await import('../operations/dead-letters/commands/dead-letter.ts')).deadLetterCommand,
  ],
  [
    'event [options] <tenant> <event_id>',
    'show the status of an event, and the known times that it was received',
    async () => (await import('../operations/receipts/commands/event.ts')).eventCommand,
  ],
  [
    'enrich [options] <ip...>',
    'look addresses up in the data files',
    async () => (await import('../enrichment/commands/enrich-command.ts')).enrichCommand,
  ],
  [
    'quality [options] <tenant>',
    'show how many visits of people with a known work e-mail address were attributed to their company',
    async () => (await import('../operations/accuracy/commands/quality.ts')).qualityCommand,
  ],
  [
    'compare [options] <tenant>',
    'compare the data with those of another folder on the stored addresses; changes nothing',
    async () => (await import('../operations/accuracy/commands/compare.ts')).compareCommand,
  ],
  [
    'learn [options] <tenant>',
    'propose rules "is" for networks whose visitors keep having work e-mail addresses of one domain',
    async () => (await import('../operations/accuracy/commands/learn.ts')).learnCommand,
  ],
  [
    'db',
    'list, check, build and update enrichment data',
    async () => (await import('../enrichment/commands/command.ts')).dbCommand,
  ],
  [
    'demo [options]',
    'fill a tenant with a month of made-up visits, or remove them again',
    async () => (await import('../operations/demo/commands/demo.ts')).demoCommand,
  ],
  [
    'backup [options] [dir]',
    'write tenants, keys and all tables into a new folder, while everything runs',
    async () => (await import('../operations/backup/commands/backup.ts')).backupCommand,
  ],
  [
    'restore [options] <from>',
    'fill a new DATA_DIR, or empty stores, with a backup; no ipid may run on them',
    async () => (await import('../operations/backup/commands/restore.ts')).restoreCommand,
  ],
  [
    'replay [options]',
    'send archived events that are missing in the tables through the pipeline again; none counts twice',
    async () => (await import('../operations/replay/commands/command.ts')).replayCommand,
  ],
  [
    'erase [options] <tenant>',
    "remove a tenant's events of an address, an account, an id or a source from all stores; prints a receipt",
    async () => (await import('../operations/erasure/commands/erase.ts')).eraseCommand,
  ],
  [
    'service',
    'install ipid as a service of systemd, or remove it',
    async () => (await import('../operations/service/commands/service.ts')).serviceCommand,
  ],
  [
    'plan [options]',
    'compute CPU, memory, disk and settings for a number of events, from measurements; needs no running ipid',
    async () => (await import('../operations/sizing/commands/plan.ts')).planCommand,
  ],
  [
    'version [options]',
    'print the versions of ipid, Node.js and the HTTP engine, and the forms of data that they read and write',
    async () => (await import('./version.ts')).versionCommand,
  ],
]
const HIDDEN_COMMANDS: readonly Listed[] = [
  ['role <module>', '', async () => (await import('./start/hidden-commands.ts')).roleCommand],
  ['compile', '', async () => (await import('./start/hidden-commands.ts')).compileCommand],
]

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
    .configureHelp({ subcommandTerm: (command) => COMMANDS.find(([term]) => nameOf(term) === command.name())![0] })
  const asked = args.find((arg) => !arg.startsWith('-'))
  const add = async ([term, about, load]: Listed, hidden: boolean) => {
    const name = nameOf(term)
    const create = name === asked ? await load() : () => new Command(name)
    const command = await create(context, (code) => {
      exitCode = code
    })
    program.addCommand(command.description(about), { hidden })
  }
  try {
    for (const listed of COMMANDS) await add(listed, false)
    for (const listed of HIDDEN_COMMANDS) await add(listed, true)
    settle(program, context)
    await program.parseAsync([...args], { from: 'user' })
    return exitCode
  } catch (error) {
    // A command may have set its own code for a failure.
    return Math.max(exitCode, explain(error, context))
  }
}

/** `sql [options] [statement]` → `sql` */
function nameOf(term: string): string {
  return term.split(' ', 1)[0]!
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
