import { Command, Option } from 'commander'
import { RETENTION_DAYS_MAX } from '../../../schemas/limits.ts'
import type { Addresses, TenantChange } from '../../../schemas/tenant.ts'
import { UNCLASSIFIED, type Unclassified } from '../../../schemas/tenant-rules.ts'
import { integer } from '../../config/values.ts'
import { deleteTenantCommand } from '../../operations/erasure/commands/delete-tenant.ts'
import { numbered } from '../../run/counted.ts'
import { InputError } from '../../run/errors.ts'
import type { CliContext } from '../../terminal/context.ts'
import { printJson, printPairs, printTable } from '../../terminal/print.ts'
import { addSubcommand, manageTenants } from '../../terminal/subcommand.ts'
import type { Tenant } from '../tenancy.ts'

interface TenantOptions {
  readonly plan?: string
  readonly archive?: 'on' | 'off'
  readonly retentionDays?: number | null
  readonly addresses?: Addresses
  readonly unclassified?: Unclassified
  readonly timeZone?: string
  readonly json?: boolean
}

/** `ipid tenant create|list|show|set|delete` */
export function tenantCommand(context: CliContext): Command {
  const tenant = new Command('tenant')

  addSubcommand(tenant, 'create <name>', 'create a tenant; its name may have a-z, 0-9 and -')
    .addOption(planOption())
    .addOption(archiveOption())
    .addOption(retentionOption())
    .addOption(addressesOption())
    .addOption(unclassifiedOption())
    .addOption(timeZoneOption())
    .action(async (name: string, options: TenantOptions, command: Command) => {
      printTenant(
        options,
        await manageTenants(context, command, (admin) => admin.createTenant(name, changeOf(options))),
      )
    })

  addSubcommand(tenant, 'list', 'list all tenants').action(async (options: TenantOptions, command: Command) => {
    const tenants = await manageTenants(context, command, (admin) => admin.listTenants())
    if (options.json) return printJson(context.stdout, tenants.map(tenantJson))
    const rows = tenants.map(({ id, plan, archive, addresses, createdAt }) => [id, plan, archive, addresses, createdAt])
    printTable(context.stdout, ['TENANT', 'PLAN', 'ARCHIVE', 'ADDRESSES', 'CREATED'], rows)
  })

  addSubcommand(tenant, 'show <name>', 'show a tenant').action(
    async (name: string, options: TenantOptions, command: Command) => {
      printTenant(options, await manageTenants(context, command, (admin) => admin.getTenant(name)))
    },
  )

  addSubcommand(tenant, 'set <name>', 'change a tenant; applies at once')
    .addOption(planOption())
    .addOption(archiveOption())
    .addOption(retentionOption())
    .addOption(addressesOption())
    .addOption(unclassifiedOption())
    .addOption(timeZoneOption())
    .action(async (name: string, options: TenantOptions, command: Command) => {
      const change = changeOf(options)
      if (Object.keys(change).length === 0)
        command.error(
          'nothing to set: give --plan, --archive, --retention-days, --addresses, --unclassified or --time-zone',
        )
      printTenant(options, await manageTenants(context, command, (admin) => admin.setTenant(name, change)))
    })

  tenant.addCommand(deleteTenantCommand(context))

  function printTenant(options: TenantOptions, found: Tenant): void {
    if (options.json) {
      printJson(context.stdout, tenantJson(found))
      return
    }
    printPairs(context.stdout, [
      ['tenant', found.id],
      ['plan', found.plan],
      ['archive', found.archive],
      ['retention', retentionText(found)],
      ['addresses', found.addresses],
      ['unclassified', found.unclassified ?? 'account'],
      ...(found.timeZone === undefined ? [] : ([['time zone', found.timeZone]] as const)),
      ...(found.rules === undefined ? [] : ([['rules', found.rules.length]] as const)),
      ['created', found.createdAt],
      ...(found.deleting ? ([['state', 'being deleted']] as const) : []),
    ])
  }

  return tenant
}

function planOption(): Option {
  return new Option('--plan <plan>', 'starter, growth, professional, custom, or a plan of PLANS_FILE')
}

function archiveOption(): Option {
  return new Option('--archive <on|off>', 'keep raw payloads').choices(['on', 'off'])
}

function retentionOption(): Option {
  const about = 'how many days to keep events; none: for ever; default: as in RETENTION_DAYS'
  return new Option('--retention-days <n|none|default>', about).argParser((value) => {
    if (value === 'none') return 0
    if (value === 'default') return null
    try {
      return integer(1, RETENTION_DAYS_MAX)(value)
    } catch (error) {
      throw new InputError(`--retention-days ${JSON.stringify(value)}: ${(error as Error).message}, none or default`)
    }
  })
}

function retentionText({ retentionDays }: Tenant): string {
  if (retentionDays === undefined) return 'as in RETENTION_DAYS'
  return retentionDays === 0 ? 'for ever' : numbered(retentionDays, 'day')
}

function addressesOption(): Option {
  const about = 'how to store addresses of events: in full, only their network, or only a pseudonym to count visits'
  return new Option('--addresses <full|truncated|dropped>', about).choices(['full', 'truncated', 'dropped'])
}

function unclassifiedOption(): Option {
  const about = 'events of unclassified organisations get an account, are stored without one, or are filtered'
  return new Option('--unclassified <account|event|filtered>', about).choices(UNCLASSIFIED)
}

function timeZoneOption(): Option {
  return new Option(
    '--time-zone <zone>',
    'IANA name of the zone whose days pages count, such as Europe/Berlin; default: UTC',
  )
}

function changeOf(options: TenantOptions): TenantChange {
  return {
    ...(options.plan === undefined ? {} : { plan: options.plan }),
    ...(options.archive === undefined ? {} : { archive: options.archive === 'on' }),
    ...(options.retentionDays === undefined ? {} : { retention_days: options.retentionDays }),
    ...(options.addresses === undefined ? {} : { addresses: options.addresses }),
    ...(options.unclassified === undefined ? {} : { unclassified: options.unclassified }),
    ...(options.timeZone === undefined ? {} : { time_zone: options.timeZone }),
  }
}

function tenantJson({ id, plan, archive, addresses, createdAt, retentionDays, deleting, ...judging }: Tenant): object {
  const { rules, unclassified = 'account', timeZone } = judging
  const retention = { retention_days: retentionDays ?? null }
  return {
    tenant_id: id,
    plan,
    archive,
    addresses,
    ...retention,
    created_at: createdAt,
    unclassified,
    ...(rules && { rules }),
    ...(timeZone !== undefined && { time_zone: timeZone }),
    ...(deleting ? { deleting } : {}),
  }
}
