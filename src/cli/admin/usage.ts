import { Command } from 'commander'
import type { CliContext } from '../context.ts'
import { printJson, printPairs } from '../print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../settings-options.ts'

interface UsageOptions {
  readonly month?: string
  readonly json?: boolean
}

/** `ipid usage TENANT`: accounts tracked in a month, against the plan. */
export function usageCommand(context: CliContext): Command {
  const command = new Command('usage')
    .description('show the accounts that a tenant tracked in a month, and its limit')
    .argument('<tenant>')
    .option('--month <YYYY-MM>', 'a UTC month (this one)')
    .option('--json', 'print JSON')
  return addSettings(command, INSTANCE_SETTINGS).action(async (name: string, options: UsageOptions) => {
    const config = configOf(context, command)
    const month = options.month ?? new Date().toISOString().slice(0, 7)
    const [{ withTenants }, { clickhouseUrlOf }, { connectClickHouse, DATABASE }, { readUsage }] = await Promise.all([
      import('../stores.ts'),
      import('../instance.ts'),
      import('../../clickhouse/client.ts'),
      import('../../clickhouse/usage.ts'),
    ])
    const tenant = await withTenants(config, (admin) => admin.getTenant(name))
    // A tenant whose plan is no longer there is held to the smallest one, as requests are.
    const plan = config.plans.get(tenant.plan) ?? config.plans.get('starter')!
    const url = await clickhouseUrlOf(config)
    const client = connectClickHouse(url, { application: 'cli', database: DATABASE, requestTimeoutMs: 30_000 })
    try {
      const usage = await readUsage(client, tenant.id, month, plan.monthly_accounts)
      const found = { tenant_id: tenant.id, plan: tenant.plan, month, limit: plan.monthly_accounts, ...usage }
      if (options.json) {
        printJson(context.stdout, found)
        return
      }
      printPairs(context.stdout, [
        ['tenant', found.tenant_id],
        ['plan', found.plan],
        ['month', found.month],
        ['tracked accounts', found.tracked_accounts],
        ['limit', found.limit],
        ['passed at', found.passed_at],
      ])
    } finally {
      await client.close()
    }
  })
}
