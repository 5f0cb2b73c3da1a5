import { Command, Option } from 'commander'
import { TENANT_ROLES, type TenantRole } from '../../../schemas/dashboard/roles.ts'
import { numbered } from '../../run/counted.ts'
import { InputError } from '../../run/errors.ts'
import type { CliContext } from '../../terminal/context.ts'
import { printJson, printLine } from '../../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../terminal/settings-options.ts'

const DAYS_MAX = 90
const DAY_MS = 86_400_000

interface LinkFlags {
  readonly name?: string
  readonly email?: string
  readonly role?: TenantRole
  readonly days: string
  readonly json?: boolean
}

/** `ipid dashboard`: creates sign-in links, and ends sessions. */
export function dashboardCommand(context: CliContext): Command {
  const command = new Command('dashboard')
  const link = new Command('link')
    .description('print a link that signs in a member, who sees only this tenant; it works once')
    .argument('<tenant>')
    .option('--name <text>', 'name of the member; without one, the link asks for it')
    .option('--email <address>', 'recognises a member who is invited again')
    .addOption(
      new Option('--role <name>', 'what a new person may do: read; also change; also manage people, keys and sources')
        .choices(TENANT_ROLES)
        .default('admin'),
    )
    .option('--days <n>', `days until the link expires, 1 to ${DAYS_MAX}`, '7')
    .option('--json', 'print JSON')
  addSettings(link, INSTANCE_SETTINGS).action(async (tenant: string) => {
    const flags = link.optsWithGlobals<LinkFlags>()
    const days = /^\d{1,3}$/.test(flags.days) ? Number(flags.days) : 0
    if (days < 1 || days > DAYS_MAX) throw new InputError(`--days ${flags.days}: must be 1 to ${DAYS_MAX}`)
    const { memberUrl } = await import('./sign-in.ts')
    const { name, email, role } = flags
    const invitation = { name, email, role, validMs: days * DAY_MS }
    print(context, flags, await memberUrl(configOf(context, link), tenant, invitation))
  })
  const out = new Command('sign-out')
    .description('end the sessions and links of the members of a tenant, or of all users')
    .argument('[tenant]', 'default: all users, operators included')
    .option('--json', 'print JSON')
  addSettings(out, INSTANCE_SETTINGS).action(async (tenant: string | undefined) => {
    const { json } = out.optsWithGlobals<{ json?: boolean }>()
    const { signOut } = await import('./sign-in.ts')
    const { sessions, links } = await signOut(configOf(context, out), tenant)
    if (json) printJson(context.stdout, { sessions, links })
    else printLine(context.stdout, `ended: ${numbered(sessions, 'session')}, ${numbered(links, 'link')} not opened yet`)
  })
  command.option('--name <text>', 'name of the operator, for records of their changes')
  command.option('--json', 'print JSON').addCommand(link).addCommand(out)
  return addSettings(command, INSTANCE_SETTINGS).action(async (flags: { json?: boolean; name?: string }) => {
    const { operatorUrl } = await import('./sign-in.ts')
    print(context, flags, await operatorUrl(configOf(context, command), flags.name))
  })
}

function print({ stdout }: CliContext, { json }: { readonly json?: boolean }, url: string): void {
  if (json) printJson(stdout, { dashboard_url: url })
  else printLine(stdout, url)
}
