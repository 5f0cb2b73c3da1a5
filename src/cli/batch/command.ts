import { Command } from 'commander'
import type { CliContext } from '../context.ts'
import { addSettings, configOf } from '../settings-options.ts'

interface UploadOptions {
  readonly apiKey?: string
  readonly url?: string
  readonly format?: string
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
    .description('upload NDJSON or CSV (its header gives the keys), plain or gzip')
    .argument('<file>', '- reads standard input')
    .option('--format <format>', 'ndjson or csv (by the name of the file)')
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
    const [{ showJob }, { apiAccess }] = await Promise.all([import('./upload.ts'), import('./api.ts')])
    const api = await apiAccess(config, context, options)
    setExitCode(showJob(await api.job(jobId), options.json === true, context))
  })
}
