import { Command } from 'commander'
import type { Config } from '../../../config/config.ts'
import { InputError } from '../../../run/errors.ts'
import type { TenantAdmin } from '../../../tenants/admin.ts'
import type { StoredSource } from '../../../tenants/stores.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { apiUrlOf, asInstance } from '../../../terminal/instance.ts'
import { integerOption, waitOption } from '../../../terminal/integer-option.ts'
import { printJson, printLine, printLines } from '../../../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../../terminal/settings-options.ts'

/** Marks the sources of made-up visits, so that one command finds and removes their events. */
const NAME = 'Demo visits (made up)'
const REMOVED_NAME = 'Demo visits (removed)'
const KIND = 'http'
/** How long to repeat a request that fails. */
const PATIENCE_MS = 60_000
const ORGANISATIONS = 160
const NOISE_NETWORKS = 60

interface DemoFlags {
  readonly tenant: string
  readonly seed: number
  readonly days: number
  readonly remove?: boolean
  readonly wait: number
  readonly json?: boolean
}

/** `ipid demo`: fills a tenant with made-up visits, or removes them. */
export function demoCommand(context: CliContext): Command {
  const command = new Command('demo')
    .option('--tenant <name>', 'tenant of the visits', 'demo')
    .addOption(integerOption('days', 'n', 'days up to now', { least: 1, most: 365, otherwise: 30 }))
    .addOption(
      integerOption('seed', 'n', 'the same seed draws the same visits', { least: 0, most: 9_999, otherwise: 1 }),
    )
    .option('--remove', 'remove all made-up visits')
    .addOption(waitOption('how long each wait of --remove may take'))
    .option('--json', 'print JSON')
  return addSettings(command, [...INSTANCE_SETTINGS, 'enrichDir', 'defaultData', 'archiveUrl']).action(
    async (flags: DemoFlags) => {
      const config = configOf(context, command)
      await (flags.remove ? removeVisits(flags, config, context) : addVisits(flags, config, context))
    },
  )
}

async function addVisits({ tenant, seed, days, json }: DemoFlags, given: Config, context: CliContext): Promise<void> {
  const [
    { withTenants },
    { madeData },
    { TodaysData },
    { findVisitors },
    { demoVisits },
    { Random },
    { SourceSender },
  ] = await Promise.all([
    import('../../../terminal/stores.ts'),
    import('../../../enrichment/commands/default-data.ts'),
    import('../../../enrichment/todays-data.ts'),
    import('../organisations.ts'),
    import('../visits.ts'),
    import('../../../run/random.ts'),
    import('../../../pipeline/sources/sync/sender.ts'),
  ])
  const config = await asInstance(given)
  const base = await apiUrlOf(config)
  const data = await TodaysData.open(await madeData(config))
  const wanted = { organisations: ORGANISATIONS, noise: NOISE_NETWORKS }
  const visitors = await findVisitors(new Random(seed), (address) => data.enrich(address, ''), wanted)
  const { id, key } = await withTenants(config, async (admin) => {
    const [existing] = await demoSources(admin, tenant)
    if (existing !== undefined) {
      throw new InputError(`tenant ${tenant} has made-up visits: ipid demo --remove removes them`)
    }
    return await admin.createSource(tenant, { kind: KIND, name: NAME, address: 'payload' })
  })
  const lines: string[] = []
  for (const event of demoVisits({ ...visitors, seed, days, nowMs: Date.now() })) lines.push(JSON.stringify(event))
  const sender = new SourceSender({
    ...{ base, key, patienceMs: PATIENCE_MS, remedy: 'run ipid demo --remove, then try again' },
    // Ctrl-C ends the command at once.
    stop: new AbortController().signal,
    onTrouble: (problem) => printLine(context.stderr, `${problem}: trying again`),
  })
  await sender.send(lines)
  const [events, organisations, noise_networks] = [lines, visitors.organisations, visitors.noise].map(
    ({ length }) => length,
  )
  if (json)
    return printJson(context.stdout, { tenant_id: tenant, source_id: id, events, organisations, noise_networks })
  printLines(
    context.stdout,
    `${events} made-up events of ${organisations} organisations and ${noise_networks} noise networks are on their way.
They are visible in some seconds; ./ipid demo --remove removes them.
`,
  )
}

async function removeVisits({ tenant, wait, json }: DemoFlags, config: Config, context: CliContext): Promise<void> {
  const [{ withErasable }, { eraseEvents }, { systemClock }] = await Promise.all([
    import('../../erasure/commands/erasable.ts'),
    import('../../erasure/erase.ts'),
    import('../../../run/clock.ts'),
  ])
  const rows = await withErasable(config, context, async ({ admin, alone, ...stores }) => {
    const sources = await demoSources(admin, tenant)
    let removed = 0
    for (const { prefix } of sources) {
      const onStep = (what: string) => printLine(context.stderr, what)
      const options = { ...stores, clock: systemClock, onStep, waitMs: wait * 1_000 }
      const receipt = await alone(() => eraseEvents(tenant, { kind: 'source', value: prefix }, options))
      removed += receipt.clickhouse.rows
      await admin.revokeSource(prefix)
      // Last, so that a killed removal finds the source again.
      await admin.setSource(prefix, { name: REMOVED_NAME })
    }
    return removed
  })
  if (json) return printJson(context.stdout, { tenant_id: tenant, removed: rows })
  printLine(context.stdout, `${rows} made-up events were removed`)
}

/** Revoked ones too: their events are still stored. */
async function demoSources(admin: TenantAdmin, tenant: string): Promise<readonly StoredSource[]> {
  const sources = await admin.listSources(tenant)
  return sources.filter(({ source }) => source.name === NAME)
}
