import { Command, Option } from 'commander'
import { BATCH_LIST_LIMITS, BATCH_STATUSES } from '../../../../../schemas/api/batch.ts'
import { InputError } from '../../../../run/errors.ts'
import type { CliContext } from '../../../../terminal/context.ts'
import { printJson } from '../../../../terminal/print.ts'
import { addSettings, configOf } from '../../../../terminal/settings-options.ts'
import type { UploadChoice } from './upload.ts'

interface AccessOptions {
  readonly apiKey?: string
  readonly url?: string
  readonly json?: boolean
}

interface ListOptions extends AccessOptions {
  readonly limit: string
  readonly before?: string
  readonly status?: string
  readonly label?: string
}

/** `ipid batch upload|list|show|rejected|cancel` */
export function batchCommand(context: CliContext, setExitCode: (code: number) => void): Command {
  const command = new Command('batch')
  command.addCommand(uploadCommand(context, setExitCode))
  command.addCommand(listCommand(context))
  command.addCommand(showCommand(context, setExitCode))
  command.addCommand(rejectedCommand(context))
  command.addCommand(cancelCommand(context))
  return command
}

function withAccess(command: Command): Command {
  command
    .option(
      '--api-key <key>',
      'key of the tenant; prefer IPID_API_KEY, since other users can see arguments (default: asks for it)',
    )
    .option('--url <url>', 'base URL of the API (default: the running instance)')
    .option('--json', 'print JSON')
  return addSettings(command, ['dataDir'])
}

function uploadCommand(context: CliContext, setExitCode: (code: number) => void): Command {
  const command = new Command('upload')
    .description('upload NDJSON, or CSV with a header; plain or gzip, detected from the content')
    .argument('<file>', '- reads standard input')
    .option('--map <column=key>', 'rename a column or key to a key of an event, as in visitor_ip=ip; repeatable', all)
    .option('--date-order <order>', 'dmy or mdy: how to read a date like 01/02/2026 (default: leave out these rows)')
    .option('--encoding <name>', 'for example windows-1252 (default: UTF-8 or UTF-16)')
    .option('--format <format>', 'ndjson or csv (default: detected from the content)')
    .option('--label <text>', 'a name for the job, up to 64 characters')
    .option('--wait', 'wait until the job has ended, and show its result; exit code 1 when lines were rejected')
    .option('--allow-rejected', 'with --wait: rejected lines are no failure')
  return withAccess(command).action(async (file: string, options: AccessOptions & UploadChoice) => {
    const config = configOf(context, command)
    const [{ uploadFile }, { apiAccess }] = await Promise.all([import('./upload.ts'), import('./api.ts')])
    const api = await apiAccess(config, context, options)
    setExitCode(await uploadFile(api, file, options, context))
  })
}

function listCommand(context: CliContext): Command {
  const command = new Command('list')
    .description('list the jobs of the tenant, newest first; a job is kept for 7 days after its end')
    .option('--limit <n>', 'most jobs to list, up to 100', '20')
    .option('--before <job>', 'continue after this job')
    .addOption(new Option('--status <status>', 'only these jobs').choices(BATCH_STATUSES))
    .option('--label <text>', 'only jobs with this label')
  return withAccess(command).action(async (options: ListOptions) => {
    const config = configOf(context, command)
    const limit = Number(options.limit)
    if (!Number.isInteger(limit) || limit < 1 || limit > BATCH_LIST_LIMITS.jobsMax) {
      throw new InputError(`--limit "${options.limit}": must be a whole number from 1 to ${BATCH_LIST_LIMITS.jobsMax}`)
    }
    const [{ printJobs }, { apiAccess }] = await Promise.all([import('./job-output.ts'), import('./api.ts')])
    const { before, status, label } = options
    const page = await (await apiAccess(config, context, options)).list({ limit, before, status, label })
    if (options.json) printJson(context.stdout, page)
    else printJobs(context.stdout, page)
  })
}

function cancelCommand(context: CliContext): Command {
  const command = new Command('cancel')
    .description('cancel a job that has not ended: stored events stay, and no further event enters the pipeline')
    .argument('<job>')
  return withAccess(command).action(async (jobId: string, options: AccessOptions) => {
    const config = configOf(context, command)
    const [{ printJob }, { apiAccess }] = await Promise.all([import('./job-output.ts'), import('./api.ts')])
    const job = await (await apiAccess(config, context, options)).cancel(jobId)
    if (options.json) printJson(context.stdout, job)
    else printJob(context.stdout, job)
  })
}

function showCommand(context: CliContext, setExitCode: (code: number) => void): Command {
  const command = new Command('show').description('show a job').argument('<job>')
  return withAccess(command).action(async (jobId: string, options: AccessOptions) => {
    const config = configOf(context, command)
    const [output, { apiAccess }] = await Promise.all([import('./job-output.ts'), import('./api.ts')])
    const job = await (await apiAccess(config, context, options)).job(jobId)
    if (options.json) printJson(context.stdout, job)
    else output.printJob(context.stdout, job)
    setExitCode(output.exitCodeOf(job))
  })
}

interface RejectedOptions extends AccessOptions {
  readonly out?: string
}

function rejectedCommand(context: CliContext): Command {
  const command = new Command('rejected')
    .description(
      'write the rejected lines of a job as NDJSON, with their numbers and faults; kept for 24 hours after its end',
    )
    .argument('<job>')
    .option('--out <file>', 'write to this file (default: standard output)')
  return withAccess(command).action(async (jobId: string, options: RejectedOptions) => {
    const config = configOf(context, command)
    const [{ writeRejected }, { apiAccess }] = await Promise.all([import('./rejected.ts'), import('./api.ts')])
    await writeRejected(await apiAccess(config, context, options), jobId, options, context)
  })
}

/** Collects a flag that may be repeated. */
function all(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}
