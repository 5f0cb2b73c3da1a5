import { Command } from 'commander'
import { COMMAND_LINE } from '../../run/authors.ts'
import { systemClock } from '../../run/clock.ts'
import { InputError, UnavailableError } from '../../run/errors.ts'
import { poll } from '../../run/loop.ts'
import type { CliContext } from '../../terminal/context.ts'
import { waitOption } from '../../terminal/integer-option.ts'
import { printJson, printLine, printPairs, printTable } from '../../terminal/print.ts'
import { askSecret } from '../../terminal/secret.ts'
import { configOf, INSTANCE_SETTINGS } from '../../terminal/settings-options.ts'
import { addSubcommand } from '../../terminal/subcommand.ts'
import type { CrmAdmin } from '../admin.ts'

interface CrmOptions {
  readonly tenant: string
  readonly segment?: string
  readonly all?: true
  readonly wait: number
  readonly json?: boolean
}

const SETTINGS = [...INSTANCE_SETTINGS, 'secretsKey'] as const
const LOOK_EVERY_MS = 200

/** `ipid crm connect|status|sync|disconnect` */
export function crmCommand(context: CliContext): Command {
  const root = new Command('crm')
  const add = (usage: string, about: string) =>
    addSubcommand(root, usage, about, SETTINGS).requiredOption('--tenant <name>', 'the tenant')

  add(
    'connect',
    'connect HubSpot, or replace its token; the token of the private app is read from HUBSPOT_TOKEN or the terminal',
  )
    .option('--segment <name>', 'send only companies of this segment; default: as before, at first all')
    .option('--all', 'send all companies with a domain')
    .addOption(waitOption('how long to wait for the first run'))
    .action(async ({ tenant, segment, all, wait, json }: CrmOptions, command: Command) => {
      if (all && segment !== undefined) throw new InputError('give --segment or --all: not both')
      const token = context.env.HUBSPOT_TOKEN || (await askSecret('Access token of the private app: ', context))
      if (!token) throw new InputError('an access token is needed: set HUBSPOT_TOKEN')
      await manage(context, tenant, command, async (admin, segmentId) => {
        const chosen =
          segment !== undefined ? await segmentId(segment) : all ? undefined : await keptSegment(admin, tenant)
        await admin.connect(tenant, { token, segment_id: chosen, by: COMMAND_LINE })
        await ran(admin, tenant, await admin.sync(tenant), wait)
        await show(context, admin, tenant, json)
      })
    })

  add('status', 'show the connection, its runs, and the companies that were refused').action(
    async ({ tenant, json }: CrmOptions, command: Command) => {
      await manage(context, tenant, command, (admin) => show(context, admin, tenant, json))
    },
  )

  add('sync', 'sync now, and wait for it; also starts a connection that is stopped')
    .addOption(waitOption('how long to wait for the run'))
    .action(async ({ tenant, wait, json }: CrmOptions, command: Command) => {
      await manage(context, tenant, command, async (admin) => {
        await ran(admin, tenant, await admin.sync(tenant), wait)
        await show(context, admin, tenant, json)
      })
    })

  add('disconnect', 'end the connection; companies and properties in HubSpot stay').action(
    async ({ tenant, json }: CrmOptions, command: Command) => {
      await manage(context, tenant, command, (admin) => admin.disconnect(tenant))
      if (json) printJson(context.stdout, { connection: null })
      else printLine(context.stdout, 'disconnected')
    },
  )
  return root
}

/** The segment of the connection that is replaced; undefined: all companies. @throws InputError when it was removed */
async function keptSegment(admin: CrmAdmin, tenant: string): Promise<string | undefined> {
  const segment = (await admin.shown(tenant)).connection?.segment
  if (segment?.name === null)
    throw new InputError('the segment of this connection was removed: give --segment with another one, or --all')
  return segment?.segment_id
}

/** Waits for the run that answers a request. @throws UnavailableError when it fails, or takes longer */
async function ran({ crm }: CrmAdmin, tenant: string, asked: number, wait: number): Promise<void> {
  const look = async () => {
    const state = await crm.state(tenant)
    return state.askedMs >= asked ? state : undefined
  }
  const state = await poll(look, { everyMs: LOOK_EVERY_MS, deadlineMs: performance.now() + wait * 1_000 })
  if (state === undefined)
    throw new UnavailableError('no process with the role sink has ended it yet: see ipid crm status')
  const error = state.runs[0]?.error
  if (error) throw new UnavailableError(error)
}

async function show({ stdout }: CliContext, admin: CrmAdmin, tenant: string, json = false): Promise<void> {
  const answer = await admin.shown(tenant)
  if (json) return printJson(stdout, answer)
  const { connection } = answer
  if (connection === null) return printLine(stdout, `tenant ${tenant} has no CRM`)
  const { segment, stopped, runs, refused } = connection
  printPairs(stdout, [
    ['crm', 'HubSpot'],
    ['companies', segment === null ? 'all with a domain' : `of segment ${segment.name ?? 'that was removed'}`],
    ['connected', `${connection.connected_at} by ${connection.connected_by}`],
    ['state', stopped === null ? 'on' : `stopped: ${stopped.reason}`],
    ['next run', connection.next_at ?? (stopped === null ? 'now' : 'none')],
  ])
  if (runs.length > 0) {
    printLine(stdout, '')
    const rows = runs.map((run) => [
      run.at,
      run.created,
      run.updated,
      run.unchanged,
      run.refused,
      run.brought,
      run.error,
    ])
    printTable(stdout, ['RUN', 'CREATED', 'UPDATED', 'UNCHANGED', 'REFUSED', 'READ BACK', 'ERROR'], rows)
  }
  if (refused.length === 0) return
  printLine(stdout, '')
  const rows = refused.map(({ company_id, domain, reason }) => [company_id, domain, reason])
  printTable(stdout, ['REFUSED', 'DOMAIN', 'REASON'], rows)
}

async function manage<T>(
  context: CliContext,
  tenant: string,
  command: Command,
  use: (admin: CrmAdmin, segmentId: (name: string) => Promise<string>) => Promise<T>,
): Promise<T> {
  const [{ withTenants }, { asInstance }, { crmAdmin }, { Segments }] = await Promise.all([
    import('../../terminal/stores.ts'),
    import('../../terminal/instance.ts'),
    import('../admin.ts'),
    import('../../companies/segments/segments.ts'),
  ])
  const config = await asInstance(configOf(context, command))
  return await withTenants(config, async (tenants, client) => {
    const { deleting } = await tenants.getTenant(tenant)
    if (deleting) throw new InputError(`tenant ${tenant} is being deleted`)
    const segments = new Segments(client, systemClock)
    return await use(crmAdmin(client, config, systemClock), async (name) => (await segments.named(tenant, name)).id)
  })
}
