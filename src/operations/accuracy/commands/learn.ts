import type { Command } from 'commander'
import { cutText } from '../../../run/cut-text.ts'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printLines, printTable } from '../../../terminal/print.ts'
import { configOf } from '../../../terminal/settings-options.ts'
import { leftOutText, truthCommand, withTruth } from './shared.ts'

interface LearnFlags {
  readonly days: number
  readonly apply?: string
  readonly json?: boolean
}

const ID_CHARS_MAX = 20

/** `ipid learn`: proposes rules `is` for networks that keep meeting one domain. */
export function learnCommand(context: CliContext): Command {
  const command = truthCommand('learn', 90).option('--apply <id>', 'make the rule of a proposal')
  return command.action(async (name: string, flags: LearnFlags) => {
    const config = configOf(context, command)
    const { stdout } = context
    const { found, leftOut } = await withTruth(config, name, flags.days, async ({ truth, tenant, selection }) => {
      const [{ proposals }, { ruleSetOf }] = await Promise.all([
        import('../learn.ts'),
        import('../../../enrichment/judge.ts'),
      ])
      return {
        found: await proposals(truth.meetings(selection), ruleSetOf(tenant)),
        leftOut: await truth.leftOut(selection),
      }
    })
    if (flags.apply !== undefined) {
      const chosen = found.find(({ id }) => id === flags.apply)
      if (chosen === undefined) {
        const shown = JSON.stringify(cutText(flags.apply, ID_CHARS_MAX))
        throw new InputError(`there is no proposal ${shown}: "ipid learn ${name}" lists them`)
      }
      const { withTenants } = await import('../../../terminal/stores.ts')
      await withTenants(config, (admin) => admin.changeRules(name, { add: [chosen.rule] }))
      if (flags.json) return printJson(stdout, { tenant_id: name, applied: chosen })
      return printLines(
        stdout,
        `${chosen.rule}: applies to events from now on
./ipid replay --tenant ${name} --from DAY --to DAY --reenrich judges stored events again
./ipid rules remove ${name} ${chosen.rule} takes it back
`,
      )
    }
    if (flags.json) return printJson(stdout, { tenant_id: name, left_out: leftOut, proposals: found })
    const rows = found.map(({ id, network, domain, people, share, days, events, now }) => [
      ...[id, network, domain, people, `${Math.round(share * 100)} %`, days, events, now],
    ])
    printTable(stdout, ['ID', 'NETWORK', 'DOMAIN', 'PEOPLE', 'SHARE', 'DAYS', 'EVENTS', 'COMPANY NOW'], rows)
    printLines(
      stdout,
      found.length === 0
        ? `no network keeps meeting one domain that it is not attributed to
Noise is not stored: ./ipid rules add ${name} keep isp stores visits from access providers, so that their business customers are found${leftOutText(leftOut)}
`
        : `\n./ipid learn ${name} --apply ID makes the rule${leftOutText(leftOut)}
`,
    )
  })
}
