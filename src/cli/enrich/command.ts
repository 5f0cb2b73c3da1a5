import { Command, Option } from 'commander'
import { defaultDataDirOf, readConfig } from '../../config/config.ts'
import type { CliContext } from '../context.ts'
import { addSettings } from '../settings-options.ts'

interface EnrichFlags {
  readonly enrichDir?: string
  readonly dataDir?: string
  readonly defaultData?: string
  readonly rdns?: boolean
  readonly rdnsServers?: string
  readonly explain?: boolean
  readonly json?: boolean
}

/** `ipid enrich IP…`: looks addresses up in the data files, without a server. */
export function enrichCommand(context: CliContext): Command {
  const command = new Command('enrich')
    .description('show what is known of addresses, from the data files alone')
    .argument('<ip...>', 'addresses; - reads them from standard input, one a line')
    .option('--explain', 'say which provider and network each value comes from, and which rule classified')
    .option('--rdns', 'ask reverse DNS too')
    .addOption(new Option('--rdns-servers <list>', 'name servers to ask, ADDRESS[:PORT],… (those of the machine)'))
    .option('--json', 'print one JSON object a line')
  const settings = ['enrichDir', 'dataDir', 'defaultData'] as const
  return addSettings(command, settings).action(async (ips: string[], flags: EnrichFlags) => {
    const { enrichDir, dataDir, defaultData } = flags
    const [{ enrichAddresses }, { asInstance }] = await Promise.all([
      import('./addresses.ts'),
      import('../instance.ts'),
    ])
    // With the data of the instance that runs here, if one does; it is not asked.
    const config = await asInstance(readConfig(context.env, { enrichDir, dataDir, defaultData }))
    await enrichAddresses(
      { ...flags, ips, enrichDir: config.enrichDir, defaultsDir: defaultDataDirOf(config) },
      context,
    )
  })
}
