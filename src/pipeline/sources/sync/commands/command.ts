import { Command } from 'commander'
import { trustedProxiesSetting } from '../../../../http/engine/trusted-proxies.ts'
import { InputError } from '../../../../run/errors.ts'
import type { CliContext } from '../../../../terminal/context.ts'
import { addPipelineSettings, addSettings, configOf } from '../../../../terminal/settings-options.ts'
import { LINE_FORMATS } from '../../formats/formats.ts'
import type { SyncChoice } from './sync.ts'

/** `ipid sync FILE…` */
export function syncCommand(context: CliContext, setExitCode: (code: number) => void): Command {
  const command = new Command('sync')
    .argument('<file...>', 'plain or gzip, detected from the content; - reads standard input')
    .requiredOption('--source <key>', 'the source key, as "./ipid source create TENANT http" prints it')
    .option('--follow', 'wait for further lines, across rotation by renaming and by copying')
    .option('--format <name>', 'format of the files (default: auto, recognised by their first lines)', 'auto')
    .option(
      '--map <name=path>',
      'where JSON has a field, as in ip=request.client_ip; repeatable; means --format json',
      all,
    )
    .option('--all', 'send all requests, not only page views: GET, answered 2xx or 304, and no image, style or script')
    .option('--site <host>', 'site of the pages whose log has only their paths, as in www.example.com')
    .option('--url <url>', 'base URL of the API (default: the running instance)')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `\nFormats:\n${LINE_FORMATS.map(({ name, about }) => `  ${name.padEnd(12)} ${about}`).join('\n')}
Around each line there may be: Docker's json-file, the CRI of Kubernetes, syslog, a time.`,
    )
  addPipelineSettings(command, [trustedProxiesSetting])
  return addSettings(command, ['dataDir']).action(async (files: string[], options: SyncChoice) => {
    if (options.follow && options.json) throw new InputError('--follow and --json do not go together')
    const config = configOf(context, command)
    const { syncFiles } = await import('./sync.ts')
    setExitCode(await syncFiles(files, options, config, context))
  })
}

/** Collects a flag that may be repeated. */
function all(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}
