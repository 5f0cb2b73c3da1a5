import { Command } from 'commander'
import { systemClock } from '../../../run/clock.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printPairs, printTable } from '../../../terminal/print.ts'
import { configOf } from '../../../terminal/settings-options.ts'
import { addSubcommand } from '../../../terminal/subcommand.ts'
import type { Segment, Segments } from '../segments.ts'

interface SegmentOptions {
  readonly where?: string
  readonly json?: boolean
}

/** `ipid segment create|list|show|remove` */
export function segmentCommand(context: CliContext): Command {
  const segment = new Command('segment')

  addSubcommand(segment, 'create <tenant> <name>', 'create a segment')
    .requiredOption(
      '--where <filter>',
      "such as 'industry=Software,days=30,page~/pricing' or '(country=DE or heat>=50) and not tag=customer'",
    )
    .action(async (tenant: string, name: string, { where = '', json }: SegmentOptions, command: Command) => {
      print(tenant, await manage(tenant, command, (segments) => segments.create(tenant, name, where)), json)
    })

  addSubcommand(segment, 'list <tenant>', 'list the segments of a tenant').action(
    async (tenant: string, { json }: SegmentOptions, command: Command) => {
      const found = await manage(tenant, command, (segments) => segments.list(tenant))
      if (json)
        return printJson(
          context.stdout,
          found.map((one) => segmentJson(tenant, one)),
        )
      const rows = found.map(({ name, where, created_at: createdAt }) => [name, where, createdAt])
      printTable(context.stdout, ['NAME', 'WHERE', 'CREATED'], rows)
    },
  )

  addSubcommand(segment, 'show <tenant> <name>', 'show a segment').action(
    async (tenant: string, name: string, { json }: SegmentOptions, command: Command) => {
      print(tenant, await manage(tenant, command, (segments) => segments.named(tenant, name)), json)
    },
  )

  addSubcommand(segment, 'remove <tenant> <name>', 'remove a segment that no alert, no export and no CRM needs').action(
    async (tenant: string, name: string, { json }: SegmentOptions, command: Command) => {
      const removed = await manage(tenant, command, async (segments, client) => {
        const found = await segments.named(tenant, name)
        const [{ RedisAlerts }, { RedisExports }, { RedisCrm }, { removeSegment }] = await Promise.all([
          import('../../../alerts/redis/alert-store.ts'),
          import('../../../exports/redis/export-store.ts'),
          import('../../../crm/redis/crm-store.ts'),
          import('../../../alerts/remove-segment.ts'),
        ])
        const [alerts, exports, crm] = [new RedisAlerts(client), new RedisExports(client), new RedisCrm(client)]
        await removeSegment({ segments, exports, crm, records: (id) => alerts.list(id) }, tenant, found.id)
        return found
      })
      print(tenant, removed, json)
    },
  )

  function print(tenant: string, found: Segment, json = false): void {
    if (json) printJson(context.stdout, segmentJson(tenant, found))
    else {
      printPairs(context.stdout, [
        ['segment', found.name],
        ['where', found.where],
        ['tenant', tenant],
        ['created', found.created_at],
      ])
    }
  }

  async function manage<T>(
    tenant: string,
    command: Command,
    use: (segments: Segments, client: RedisClient) => Promise<T>,
  ): Promise<T> {
    const [{ withTenants }, { Segments: Store }] = await Promise.all([
      import('../../../terminal/stores.ts'),
      import('../segments.ts'),
    ])
    return await withTenants(configOf(context, command), async (admin, client) => {
      await admin.getTenant(tenant)
      return await use(new Store(client, systemClock), client)
    })
  }

  return segment
}

function segmentJson(tenant: string, { id, name, where, created_at }: Segment): object {
  return { segment_id: id, tenant_id: tenant, name, where, created_at }
}
