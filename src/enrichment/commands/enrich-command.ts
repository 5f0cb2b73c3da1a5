import { Command, Option } from 'commander'
import { fetchedDirOf } from '../../config/config.ts'
import type { CliContext } from '../../terminal/context.ts'
import { asInstance } from '../../terminal/instance.ts'
import { addSettings, configOf } from '../../terminal/settings-options.ts'
import { tenantOf } from '../../terminal/tenant-of.ts'

interface EnrichFlags {
  readonly tenant?: string
  readonly rdns?: boolean
  readonly rdnsServers?: string
  readonly explain?: boolean
  readonly json?: boolean
}

/** `ipid enrich IP…`: looks addresses up in the data files, without a server unless a tenant is named. */
export function enrichCommand(context: CliContext): Command {
  const command = new Command('enrich')
    .description('show what is known of addresses, from the data files alone')
    .argument('<ip...>', 'addresses; - reads them from standard input, one a line')
    .option('--explain', 'say which provider and network each value comes from, and which rule classified')
    .option('--rdns', 'ask reverse DNS too')
    .addOption(new Option('--rdns-servers <list>', 'name servers to ask, ADDRESS[:PORT],… (those of the machine)'))
    .option('--json', 'print one JSON object a line')
    .option('--tenant <name>', 'as the rules of this tenant judge them')
  const settings = ['enrichDir', 'dataDir', 'defaultData', 'redisUrl'] as const
  return addSettings(command, settings).action(async (ips: string[], { tenant: name, ...flags }: EnrichFlags) => {
    const [{ enrichAddresses }, { madeDefaultsOrNone }] = await Promise.all([
      import('./addresses.ts'),
      import('./default-data.ts'),
    ])
    // With the data of the instance that runs here, if one does; it is not asked.
    const config = await asInstance(configOf(context, command))
    const tenant = name === undefined ? undefined : await tenantOf(config, name)
    const { enrichDir } = config
    const defaultsDir = await madeDefaultsOrNone(config, context)
    const data = { enrichDir, defaultsDir, fetchedDir: fetchedDirOf(config) }
    await enrichAddresses({ ...flags, ...data, ips, tenant }, context)
  })
}
