import { Command } from 'commander'
import type { CliContext } from '../context.ts'
import { printJson } from '../print.ts'
import { addSettings, configOf } from '../settings-options.ts'

interface UploadOptions {
  readonly apiKey?: string
  readonly url?: string
  readonly format?: string
  readonly map?: string[]
  readonly dateOrder?: string
  readonly encoding?: string
  readonly wait?: boolean
  readonly json?: boolean
}

/** `ipid batch upload FILE` and `ipid batch show JOB` */
export function batchCommand(context: CliContext, setExitCode: (code: number) => void): Command {
  const command = new Command('batch').description('upload events from files, and see how far they are')
  command.addCommand(uploadCommand(context, setExitCode))
  command.addCommand(showCommand(context, setExitCode))
  return command
}

function withAccess(command: Command): Command {
  command
    .option(
      '--api-key <key>',
      'key of the tenant; better in IPID_API_KEY, since others see arguments (asked for when there is neither)',
    )
    .option('--url <url>', 'base URL of the API (that of the running instance)')
    .option('--json', 'print JSON')
  return addSettings(command, ['dataDir'])
}

function uploadCommand(context: CliContext, setExitCode: (code: number) => void): Command {
  const command = new Command('upload')
    .description('upload NDJSON or CSV (its header gives the keys), plain or gzip, by what is in the file')
    .argument('<file>', '- reads standard input')
    .option(
      '--map <column=key>',
      'the key of an event that a column or key stands for, as in visitor_ip=ip; repeatable',
      all,
    )
    .option('--date-order <order>', 'dmy or mdy: how to read a date like 01/02/2026 (such rows are left out)')
    .option('--encoding <name>', 'such as windows-1252 (UTF-8)')
    .option('--format <format>', 'ndjson or csv (by what is in the file)')
    .option('--wait', 'wait until the job has ended, and show its result')
  return withAccess(command).action(async (file: string, options: UploadOptions) => {
    const config = configOf(context, command)
    const [{ uploadFile }, { apiAccess }] = await Promise.all([import('./upload.ts'), import('./api.ts')])
    const api = await apiAccess(config, context, options)
    setExitCode(await uploadFile(api, file, options, context))
  })
}

function showCommand(context: CliContext, setExitCode: (code: number) => void): Command {
  const command = new Command('show').description('show a job').argument('<job>')
  return withAccess(command).action(async (jobId: string, options: UploadOptions) => {
    const config = configOf(context, command)
    const [output, { apiAccess }] = await Promise.all([import('./job-output.ts'), import('./api.ts')])
    const job = await (await apiAccess(config, context, options)).job(jobId)
    if (options.json) printJson(context.stdout, job)
    else output.printJob(context.stdout, job)
    setExitCode(output.exitCodeOf(job))
  })
}

/** Collects a flag that may be repeated. */
function all(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}
