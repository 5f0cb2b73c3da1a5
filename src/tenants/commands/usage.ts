import { Command } from 'commander'
import type { CliContext } from '../../terminal/context.ts'
import { printJson, printPairs } from '../../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../terminal/settings-options.ts'

interface UsageOptions {
  readonly month?: string
  readonly json?: boolean
}

/** `ipid usage TENANT`: shows the accounts tracked in a month, and the limit of the plan. */
export function usageCommand(context: CliContext): Command {
  const command = new Command('usage')
    .argument('<tenant>')
    .option('--month <YYYY-MM>', 'UTC month; default: the current one')
    .option('--json', 'print JSON')
  return addSettings(command, INSTANCE_SETTINGS).action(async (name: string, options: UsageOptions) => {
    const given = configOf(context, command)
    const month = options.month ?? new Date().toISOString().slice(0, 7)
    const [
      { readingRedis, tenantAdmin },
      { asInstance, clickhouseUrlOf, redisUrlOf },
      { connectClickHouse, DATABASE },
      { readUsage },
      { readProxiedSenders, warningOf },
    ] = await Promise.all([
      import('../../terminal/stores.ts'),
      import('../../terminal/instance.ts'),
      import('../../stores/clickhouse/client.ts'),
      import('../usage.ts'),
      import('../sources/proxied-senders.ts'),
    ])
    const config = await asInstance(given)
    const tenant = await readingRedis(await redisUrlOf(config), (redis) => tenantAdmin(redis, config).getTenant(name))
    // When the plan no longer exists, the smallest plan applies, as for requests.
    const plan = config.plans.get(tenant.plan) ?? config.plans.get('starter')!
    const url = await clickhouseUrlOf(config)
    const client = connectClickHouse(url, { application: 'cli', database: DATABASE, requestTimeoutMs: 30_000 })
    try {
      const usage = await readUsage(client, tenant.id, month, plan.monthly_accounts)
      const warning = warningOf(await readProxiedSenders(client, Date.now(), tenant.id))
      const found = { tenant_id: tenant.id, plan: tenant.plan, month, limit: plan.monthly_accounts, ...usage }
      const note = warning && { warning: warning.text, share: Math.round(warning.share * 1_000) / 1_000 }
      if (options.json) {
        printJson(context.stdout, { ...found, ...note })
        return
      }
      printPairs(context.stdout, [
        ['tenant', found.tenant_id],
        ['plan', found.plan],
        ['month', found.month],
        ['tracked accounts', `${found.tracked_accounts} (companies with an event received in the month, UTC)`],
        ['limit', found.limit],
        ['passed at', found.passed_at],
        ...(note === undefined ? [] : ([['warning', note.warning]] as const)),
      ])
    } finally {
      await client.close()
    }
  })
}
