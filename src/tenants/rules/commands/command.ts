import { Command } from 'commander'
import type { TenantRules } from '../../../../schemas/tenant-rules.ts'
import { parseAddress } from '../../../pipeline/event/address.ts'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printTable } from '../../../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../../terminal/settings-options.ts'
import { tenantOf } from '../../../terminal/tenant-of.ts'
import type { Tenant } from '../../tenancy.ts'

interface RulesOptions {
  readonly dryRun?: boolean
  readonly json?: boolean
}

type Change = { readonly add?: readonly string[]; readonly remove?: readonly string[] }

const DATA = ['enrichDir', 'defaultData'] as const

/** `ipid rules list|add|remove|check` */
export function rulesCommand(context: CliContext): Command {
  const rules = new Command('rules')
  const ABOUT =
    'own NETWORK; is NETWORK DOMAIN [NAME]; never-noise or always-noise with a network, an AS or an organisation; keep CLASS'

  subcommand('list <tenant>', 'list the rules of a tenant').action(
    async (name: string, options: RulesOptions, command: Command) => {
      printRules(options, await tenantOf(configOf(context, command), name))
    },
  )

  changing('add', `add a rule; applies at once: ${ABOUT}`, (rule) => ({ add: [rule] }))
  changing('remove', 'remove a rule; applies at once', (rule) => ({ remove: [rule] }))

  addSettings(
    subcommand('check <tenant> <address...>', 'show the status of addresses, and the rule that decides'),
    DATA,
  ).action(async (name: string, addresses: string[], options: RulesOptions, command: Command) => {
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

  function changing(verb: 'add' | 'remove', about: string, changeOf: (rule: string) => Change): void {
    subcommand(`${verb} <tenant> <kind> <subject...>`, about)
      .option('--dry-run', 'show the effect on the events since yesterday, and change nothing')
      .action(async (name: string, kind: string, words: string[], options: RulesOptions, command: Command) => {
        const config = configOf(context, command)
        const given = [kind, ...words].join(' ')
        // Another version may have written a spelling that this one does not accept.
        const isListed = verb === 'remove' && (await tenantOf(config, name)).rules?.includes(given)
        const change = changeOf(isListed ? given : await spelled(kind, words.join(' ')))
        if (options.dryRun) {
          const { dryRun } = await import('./dry-run.ts')
          await dryRun(config, await tenantOf(config, name), change, options.json === true, context)
          return
        }
        const { withTenants } = await import('../../../terminal/stores.ts')
        printRules(options, await withTenants(config, (admin) => admin.changeRules(name, change)))
      })
  }

  /** The rule in canonical spelling. */
  async function spelled(kind: string, subject: string): Promise<string> {
    const { parseRule } = await import('../../../enrichment/tenant-rules/rule.ts')
    const rule = parseRule(kind, subject)
    if (typeof rule === 'string') throw new InputError(rule)
    return rule.text
  }

  function subcommand(usage: string, about: string): Command {
    return addSettings(rules.command(usage).description(about).option('--json', 'print JSON'), INSTANCE_SETTINGS)
  }

  function printRules(options: RulesOptions, { id, rules = [], unclassified = 'account' }: Tenant & TenantRules): void {
    if (options.json) printJson(context.stdout, { tenant_id: id, rules, unclassified })
    else {
      const rows = rules.map((rule) => rule.split(/ (.*)/s).slice(0, 2))
      printTable(context.stdout, ['RULE', 'SUBJECT'], [...rows, ['unclassified', unclassified]])
    }
  }

  return rules
}
