import { Command } from 'commander'
import { REENRICHMENT_LIMITS } from '../../../../schemas/limits.ts'
import { isHiding, type TenantRules } from '../../../../schemas/tenant-rules.ts'
import type { Config } from '../../../config/config.ts'
import { HIDDEN_ONLY, type ReenrichJob, type ReenrichRequest } from '../../../operations/reenrich/jobs/job.ts'
import { parseAddress } from '../../../pipeline/event/address.ts'
import { COMMAND_LINE } from '../../../run/authors.ts'
import { systemClock } from '../../../run/clock.ts'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printLine, printTable } from '../../../terminal/print.ts'
import { configOf, INSTANCE_SETTINGS } from '../../../terminal/settings-options.ts'
import { addSubcommand } from '../../../terminal/subcommand.ts'
import { tenantOf } from '../../../terminal/tenant-of.ts'
import type { Tenant } from '../../tenancy.ts'

interface RulesOptions {
  readonly dryRun?: boolean
  readonly json?: boolean
  /** Only for `add` and `remove`. */
  readonly past?: string
  /** Only for `delete-hidden`. */
  readonly yes?: boolean
}

type Change = { readonly add?: readonly string[]; readonly remove?: readonly string[] }

/** A request of a job, without its maker and time. */
type Applied = Omit<ReenrichRequest, 'requestedBy' | 'requestedAtMs'>

const ONLY_HIDDEN = { unclassified: false, days: HIDDEN_ONLY } as const

/** Days of stored events that a change applies to, null for all; undefined: to none. @throws InputError */
function daysOf(past: string | undefined, verb: 'add' | 'remove', rule: string): number | null | undefined {
  const isHidden = verb === 'remove' && isHiding(rule)
  if (past === undefined && verb === 'add') return isHiding(rule) ? null : undefined
  if (past === undefined || past === 'none') return isHidden ? HIDDEN_ONLY : undefined
  if (past === 'all') return null
  const days = Number(past)
  if (Number.isInteger(days) && days >= 1 && days <= REENRICHMENT_LIMITS.daysMax) return days
  throw new InputError(`--past ${JSON.stringify(past)}: must be a number of days, all, or none`)
}

const RULE =
  'own NETWORK; is NETWORK|AS DOMAIN|- [NAME]; never-noise or always-noise with a network, an AS or an organisation; keep CLASS'

/** `ipid rules list|add|remove|delete-hidden|check` */
export function rulesCommand(context: CliContext): Command {
  const rules = new Command('rules')
  addList(rules, context)
  addChange(rules, context, 'add', `add a rule; applies at once: ${RULE}`)
  addChange(rules, context, 'remove', 'remove a rule; applies at once')
  addDeleteHidden(rules, context)
  addCheck(rules, context)
  return rules
}

function addList(rules: Command, context: CliContext): void {
  addSubcommand(rules, 'list <tenant>', 'list the rules of a tenant').action(
    async (name: string, options: RulesOptions, command: Command) => {
      printRules(context, options, await tenantOf(configOf(context, command), name))
    },
  )
}

function addChange(rules: Command, context: CliContext, verb: 'add' | 'remove', about: string): void {
  addSubcommand(rules, `${verb} <tenant> <kind> <subject...>`, about)
    .option('--dry-run', 'show the effect on the events since yesterday, and change nothing')
    .option(
      '--past <days>',
      'stored events that it applies to: of this many days, all, or none; default: all for own and always-noise, which hide them, none for others. What a removed rule hides is shown again in any case',
    )
    .action(async (name: string, kind: string, words: string[], options: RulesOptions, command: Command) => {
      const config = configOf(context, command)
      const given = [kind, ...words].join(' ')
      // Another version may have written a spelling that this one does not accept.
      const isListed = verb === 'remove' && (await tenantOf(config, name)).rules?.includes(given)
      const rule = isListed ? given : await spelled(kind, words.join(' '))
      const change: Change = { [verb]: [rule] }
      if (options.dryRun) {
        const { dryRun } = await import('./dry-run.ts')
        await dryRun(config, await tenantOf(config, name), change, options.json === true, context)
        return
      }
      const days = daysOf(options.past, verb, given)
      const { withTenants } = await import('../../../terminal/stores.ts')
      const changed = await withTenants(config, (admin) => admin.changeRules(name, change))
      // If the command is killed here, the rule applies to new events only. The same command again does the rest.
      if (days !== undefined) await applied(config, name, { rules: [rule], unclassified: false, days })
      printRules(context, options, changed)
    })
}

function addDeleteHidden(rules: Command, context: CliContext): void {
  addSubcommand(
    rules,
    'delete-hidden <tenant> <kind> <subject...>',
    'delete the stored visits that a rule hides, for good',
  )
    .option('--yes', 'yes, although this cannot be undone')
    .action(async (name: string, kind: string, words: string[], options: RulesOptions, command: Command) => {
      const config = configOf(context, command)
      const { rules: known = [] } = await tenantOf(config, name)
      const given = [kind, ...words].join(' ')
      const rule = known.includes(given) ? given : await spelled(kind, words.join(' '))
      if (!known.includes(rule)) throw new InputError(`tenant ${name} has no rule "${rule}"`)
      if (options.yes !== true) {
        throw new InputError(
          'nothing was deleted. This cannot be undone: after it, removing the rule no longer shows these visits again. Add --yes to delete them',
        )
      }
      const job = await applied(config, name, { ...ONLY_HIDDEN, rules: [rule], deletes: [rule] })
      if (job === undefined) throw new InputError('in a ClickHouse cluster rules hide no stored visits')
      if (options.json) printJson(context.stdout, { tenant_id: name, rule, job_id: job.jobId })
      else printLine(context.stdout, `the visits that "${rule}" hides are being deleted: job ${job.jobId}`)
    })
}

function addCheck(rules: Command, context: CliContext): void {
  addSubcommand(rules, 'check <tenant> <address...>', 'show the status of addresses, and the rule that decides', [
    ...INSTANCE_SETTINGS,
    'enrichDir',
    'defaultData',
  ]).action(async (name: string, addresses: string[], options: RulesOptions, command: Command) => {
    const [{ checkAddresses }, { asInstance }] = await Promise.all([
      import('./check.ts'),
      import('../../../terminal/instance.ts'),
    ])
    const config = await asInstance(configOf(context, command))
    const tenant = await tenantOf(config, name)
    const parsed = addresses.map((text) => {
      const address = parseAddress(text)
      if (address === undefined) throw new InputError(`${JSON.stringify(text)} is not an IP address`)
      return address
    })
    const found = await checkAddresses(config, tenant, parsed)
    if (options.json) return printJson(context.stdout, found)
    const rows = found.map(({ ip, status, classification, rule }) => [ip, status, classification, rule])
    printTable(context.stdout, ['ADDRESS', 'STATUS', 'CLASS', 'RULE'], rows)
  })
}

/** Requests a job for stored events; none in a cluster without CLICKHOUSE_HOSTS, where rules apply to new events only. */
async function applied(config: Config, tenantId: string, request: Applied): Promise<ReenrichJob | undefined> {
  const [{ withTenants }, { ReenrichJobs }, { asInstance }] = await Promise.all([
    import('../../../terminal/stores.ts'),
    import('../../../operations/reenrich/jobs/job-store.ts'),
    import('../../../terminal/instance.ts'),
  ])
  const { clickhouseCluster, clickhouseHosts } = await asInstance(config)
  if (clickhouseCluster !== undefined && clickhouseHosts === undefined) return undefined
  const stamp = { requestedBy: COMMAND_LINE, requestedAtMs: systemClock.now() }
  return await withTenants(config, (_, client) => new ReenrichJobs(client).request(tenantId, { ...request, ...stamp }))
}

/** The rule in canonical spelling. */
async function spelled(kind: string, subject: string): Promise<string> {
  const { parseRule } = await import('../../../enrichment/tenant-rules/rule.ts')
  const rule = parseRule(kind, subject)
  if (typeof rule === 'string') throw new InputError(rule)
  return rule.text
}

function printRules(
  context: CliContext,
  options: RulesOptions,
  { id, rules = [], unclassified = 'account' }: Tenant & TenantRules,
): void {
  if (options.json) printJson(context.stdout, { tenant_id: id, rules, unclassified })
  else {
    const rows = rules.map((rule) => rule.split(/ (.*)/s).slice(0, 2))
    printTable(context.stdout, ['RULE', 'SUBJECT'], [...rows, ['unclassified', unclassified]])
  }
}
