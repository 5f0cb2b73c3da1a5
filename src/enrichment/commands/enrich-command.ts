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
    .argument('<ip...>', 'addresses; - reads them from standard input, one a line')
    .option('--explain', 'show the provider and network of each value, and the rule that classified the address')
    .option('--rdns', 'query reverse DNS too')
    .addOption(new Option('--rdns-servers <list>', 'name servers, ADDRESS[:PORT],… (default: those of the machine)'))
    .option('--json', 'print one JSON object a line')
    .option('--tenant <name>', 'apply the rules of this tenant')
  const settings = ['enrichDir', 'dataDir', 'defaultData', 'redisUrl'] as const
  return addSettings(command, settings).action(async (ips: string[], { tenant: name, ...flags }: EnrichFlags) => {
    const [{ enrichAddresses }, { madeDefaultsOrNone }] = await Promise.all([
      import('./addresses.ts'),
      import('./default-data.ts'),
    ])
    // Uses the data folders of a running local instance, without contacting it.
    const config = await asInstance(configOf(context, command))
    const tenant = name === undefined ? undefined : await tenantOf(config, name)
    const { enrichDir } = config
    const defaultsDir = await madeDefaultsOrNone(config, context)
    const data = { enrichDir, defaultsDir, fetchedDir: fetchedDirOf(config) }
    await enrichAddresses({ ...flags, ...data, ips, tenant }, context)
  })
}
