import { Command, Option } from 'commander'
import { ALERT_KINDS, ALERT_LIMITS, ALERT_TYPES, type AlertKind, type AlertType } from '../../../schemas/alert.ts'
import type { Config } from '../../config/config.ts'
import { systemClock } from '../../run/clock.ts'
import { InputError, UnavailableError } from '../../run/errors.ts'
import { poll } from '../../run/loop.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { zoneOfTenant } from '../../tenants/tenancy.ts'
import type { CliContext } from '../../terminal/context.ts'
import { integerOption } from '../../terminal/integer-option.ts'
import { printJson, printLine, printPairs, printTable } from '../../terminal/print.ts'
import { configOf, INSTANCE_SETTINGS } from '../../terminal/settings-options.ts'
import { addSubcommand } from '../../terminal/subcommand.ts'
import type { AlertAdmin } from '../admin.ts'
import { waitsFor } from '../facts.ts'
import type { Alert, FiringAlert } from '../redis/alert-store.ts'

interface AlertOptions {
  readonly on?: AlertType
  readonly segment?: string
  readonly after?: number
  readonly webhook?: string
  readonly slack?: string
  readonly teams?: string
  readonly email?: string
  readonly digest?: 'weekly'
  readonly days?: number
  readonly json?: boolean
}

/** Settings of the commands of alerts and digests. */
export const ALERT_SETTINGS = [...INSTANCE_SETTINGS, 'secretsKey', 'webhookPrivate', 'dashboardUrl'] as const
const TEST_MS = 30_000
const LOOK_EVERY_MS = 100
const TRY_DAYS_MAX = 365

/** `ipid alert create|list|test|confirm|pause|resume|remove|try` */
export function alertCommand(context: CliContext): Command {
  const alert = new Command('alert')
  addCreate(alert, context)
  addList(alert, context)
  addTest(alert, context)
  addConfirm(alert, context)
  addPauseAndResume(alert, context)
  addRemove(alert, context)
  addTry(alert, context)
  return alert
}

function addCreate(alert: Command, context: CliContext): void {
  addSubcommand(
    alert,
    'create <tenant> <name>',
    'create an alert; the secret of a webhook is shown this once',
    ALERT_SETTINGS,
  )
    .addOption(new Option('--on <type>', 'when it fires').choices(ALERT_TYPES).makeOptionMandatory())
    .option('--segment <name>', 'only companies of this segment')
    .addOption(
      integerOption('after', 'days', 'company.returned: days without a visit', {
        ...{ least: ALERT_LIMITS.afterDaysMin, most: ALERT_LIMITS.afterDaysMax, otherwise: ALERT_LIMITS.afterDays },
      }),
    )
    .option('--webhook <url>', 'send a signed POST there')
    .option('--slack <url>', 'send a message to this incoming webhook of Slack')
    .option('--teams <url>', 'send a card to this workflow webhook of Microsoft Teams')
    .option('--email <address>', 'send an e-mail; needs SMTP_URL')
    .addOption(
      new Option('--digest <when>', 'e-mail: one a week, Mondays at 8:00 in the time zone of the tenant').choices([
        'weekly',
      ]),
    )
    .action(async (tenant: string, name: string, options: AlertOptions, command: Command) => {
      const given = ALERT_KINDS.filter((kind) => options[kind] !== undefined)
      const [to] = given
      if (to === undefined || given.length > 1)
        throw new InputError('give one of --webhook, --slack, --teams and --email')
      const { on, segment, digest, json } = options
      const afterDays = command.getOptionValueSource('after') === 'cli' ? options.after : undefined
      const target = options[to as AlertKind]!
      const created = await manage(context, tenant, command, (admin) =>
        admin.create(tenant, { name, on: on!, segment, afterDays, to, target, digest }),
      )
      const { id, unconfirmed } = created.alert
      if (json) printJson(context.stdout, { alert_id: id, ...(created.secret && { secret: created.secret }) })
      else
        printPairs(context.stdout, [
          ['alert', id],
          ...(created.secret === undefined ? [] : ([['secret', created.secret]] as const)),
          ...(unconfirmed === undefined ? [] : ([['state', waitsFor(unconfirmed)]] as const)),
        ])
    })
}

function addList(alert: Command, context: CliContext): void {
  addSubcommand(alert, 'list <tenant>', 'list the alerts of a tenant', ALERT_SETTINGS).action(
    async (tenant: string, { json }: AlertOptions, command: Command) => {
      const [found, names] = await manage(context, tenant, command, async (admin, client) => {
        const { Segments } = await import('../../companies/segments/segments.ts')
        const segments = await new Segments(client, systemClock).list(tenant)
        return [await admin.list(tenant), new Map(segments.map(({ id, name }) => [id, name]))] as const
      })
      const shown = found.map((one) => alertJson(one, names.get(one.segment_id ?? '')))
      if (json) printJson(context.stdout, shown)
      else {
        const rows = found.map((one, i) => {
          const { name, on, segment, to, target } = shown[i]!
          return [name, on, segment, to, target, stateOf(one)]
        })
        printTable(context.stdout, ['NAME', 'ON', 'SEGMENT', 'TO', 'TARGET', 'STATE'], rows)
      }
    },
  )
}

function addTest(alert: Command, context: CliContext): void {
  addSubcommand(alert, 'test <tenant> <name>', 'send an example now, and show the answer', ALERT_SETTINGS).action(
    async (tenant: string, name: string, { json }: AlertOptions, command: Command) => {
      const attempt = await manage(context, tenant, command, async (admin) => {
        const id = await admin.test(await admin.named(tenant, name))
        const deadlineMs = performance.now() + TEST_MS
        const look = async () => (await admin.delivery(tenant, id))?.attempts.at(-1)
        const found = await poll(look, { everyMs: LOOK_EVERY_MS, deadlineMs })
        if (found !== undefined) return found
        throw new UnavailableError('no process with the role sink has sent it yet: see ipid status')
      })
      const { status = null, answer = '', error = null, tookMs } = attempt
      if (json) printJson(context.stdout, { delivered: error === null, status, answer, error, took_ms: tookMs })
      else
        printPairs(context.stdout, [
          ['delivered', error === null ? 'yes' : `no: ${error}`],
          ['status', status ?? ''],
          ['answer', answer],
        ])
      if (error !== null) throw new UnavailableError(`the test was not delivered: ${error}`)
    },
  )
}

function addConfirm(alert: Command, context: CliContext): void {
  addSubcommand(
    alert,
    'confirm <tenant> <address>',
    'confirm an e-mail address without its link; its alerts start',
    ALERT_SETTINGS,
  ).action(async (tenant: string, given: string, { json }: AlertOptions, command: Command) => {
    const address = await manage(context, tenant, command, (admin) => admin.confirm(tenant, given))
    if (json) printJson(context.stdout, { tenant_id: tenant, address, confirmed: true })
    else printPairs(context.stdout, [['confirmed', address]])
  })
}

function addPauseAndResume(alert: Command, context: CliContext): void {
  for (const [verb, about] of [
    ['pause', 'stop an alert until it is resumed; events meanwhile are not reported'],
    ['resume', 'report new events again, and send the waiting messages'],
  ] as const) {
    addSubcommand(alert, `${verb} <tenant> <name>`, about, ALERT_SETTINGS).action(
      async (tenant: string, name: string, { json }: AlertOptions, command: Command) => {
        const changed = await manage(context, tenant, command, async (admin) =>
          admin[verb](await admin.named(tenant, name)),
        )
        printAlert(context, changed, json)
      },
    )
  }
}

function addRemove(alert: Command, context: CliContext): void {
  addSubcommand(
    alert,
    'remove <tenant> <name>',
    'remove an alert; its waiting messages are not sent',
    ALERT_SETTINGS,
  ).action(async (tenant: string, name: string, { json }: AlertOptions, command: Command) => {
    const removed = await manage(context, tenant, command, async (admin) => {
      const found = await admin.named(tenant, name)
      await admin.remove(found)
      return found
    })
    printAlert(context, removed, json)
  })
}

function addTry(alert: Command, context: CliContext): void {
  addSubcommand(alert, 'try <tenant> <name>', 'show when an alert would have fired', ALERT_SETTINGS)
    .addOption(
      integerOption('days', 'n', 'the last days, today included', { least: 1, most: TRY_DAYS_MAX, otherwise: 90 }),
    )
    .action(async (tenant: string, name: string, { days = 90, json }: AlertOptions, command: Command) => {
      const config = configOf(context, command)
      const [found, where, sources, zone] = await manage(context, tenant, command, async (admin, client) => {
        const [{ Segments }, { namedSources }, { RedisTenantStore }] = await Promise.all([
          import('../../companies/segments/segments.ts'),
          import('../../companies/companies.ts'),
          import('../../tenants/redis/tenant-store.ts'),
        ])
        const one = await admin.named(tenant, name)
        const { segment_id: id } = one
        const segment = id === undefined ? undefined : await new Segments(client, systemClock).get(tenant, id)
        const tenants = new RedisTenantStore(client)
        const zone = zoneOfTenant(await tenants.getTenant(tenant))
        return [one, segment?.where, await namedSources(tenants)(tenant), zone] as const
      })
      const tried = await tryOn(config, tenant, found, { where, days, zone, sources: async () => sources })
      if (json) {
        printJson(context.stdout, { alert_id: found.id, days, times: tried.length, occurrences: tried })
        return
      }
      const times = tried.length === 1 ? 'once' : `${tried.length} times`
      printLine(context.stdout, `would have fired ${times} in ${days} days`)
      const rows = tried.map(({ day, company_id: company }) => [day, company])
      if (rows.length > 0) printTable(context.stdout, ['DAY', 'COMPANY'], rows)
    })
}

async function tryOn(
  given: Config,
  tenant: string,
  { on, after_days: afterDays = ALERT_LIMITS.afterDays }: FiringAlert,
  {
    where,
    days,
    zone,
    sources,
  }: {
    readonly where: string | undefined
    readonly days: number
    readonly zone: string
    readonly sources: (
      tenantId: string,
    ) => Promise<readonly { readonly id: string; readonly name: string | undefined }[]>
  },
) {
  const [{ asInstance, clickhouseUrlOf }, { connectReading, QuestionReader }, { ClickHouseVisits }, { tryAlert }] =
    await Promise.all([
      import('../../terminal/instance.ts'),
      import('../../stores/clickhouse/reader.ts'),
      import('../evaluation/visits.ts'),
      import('../evaluation/trial.ts'),
    ])
  const client = connectReading(await clickhouseUrlOf(await asInstance(given)), 'cli')
  try {
    const visits = new ClickHouseVisits(new QuestionReader(client), sources, systemClock, async () => zone)
    return await tryAlert(visits, tenant, { on, afterDays, where }, days, systemClock.now())
  } finally {
    await client.close()
  }
}

function printAlert(context: CliContext, found: Alert, json = false): void {
  const { segment: _, ...shown } = alertJson(found, undefined)
  if (json) printJson(context.stdout, shown)
  else
    printPairs(context.stdout, [
      ['alert', found.id],
      ['name', found.name],
      ['on', found.on],
      ['to', `${found.to} ${found.target}`],
      ['state', stateOf(found)],
    ])
}

/** Passes the alerts of a tenant of an instance. */
export async function manage<T>(
  context: CliContext,
  tenant: string,
  command: Command,
  use: (admin: AlertAdmin, client: RedisClient) => Promise<T>,
): Promise<T> {
  const [{ withTenants }, { asInstance, dashboardUrlOf }, { alertAdmin }] = await Promise.all([
    import('../../terminal/stores.ts'),
    import('../../terminal/instance.ts'),
    import('../admin.ts'),
  ])
  const config = await asInstance(configOf(context, command))
  // Without a dashboard, links have its default address.
  const dashboardUrl = await dashboardUrlOf(config).catch(() => undefined)
  return await withTenants(config, async (tenants, client) => {
    const { deleting } = await tenants.getTenant(tenant)
    if (deleting) throw new InputError(`tenant ${tenant} is being deleted`)
    return await use(alertAdmin(client, { ...config, dashboardUrl }, systemClock), client)
  })
}

/** An alert of a restore waits for two people: for its receiver, and for a member who resumes it. */
export function stateOf({ paused, unconfirmed }: Alert): string {
  const waits = unconfirmed === undefined ? [] : [waitsFor(unconfirmed)]
  if (paused === undefined) return waits[0] ?? 'active'
  return [...waits, ...(paused.by === 'unconfirmed' ? [] : [`paused: ${paused.reason || 'by a person'}`])].join('; ')
}

function alertJson(
  { id, tenantId, name, on, after_days, to, target, digest, created_at, paused, unconfirmed }: Alert,
  segment?: string,
) {
  return {
    ...{ alert_id: id, tenant_id: tenantId, name, on, segment: segment ?? null, after_days: after_days ?? null },
    ...{ to, target, digest: digest ?? null, created_at, paused: paused ?? null, unconfirmed: unconfirmed ?? null },
  }
}
