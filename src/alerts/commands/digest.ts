import { Command, Option } from 'commander'
import { normalAddress } from '../../../schemas/alert.ts'
import { EXPORT_PERIODS, type ExportPeriod } from '../../../schemas/limits.ts'
import type { Segments } from '../../companies/segments/segments.ts'
import { systemClock } from '../../run/clock.ts'
import { InputError } from '../../run/errors.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import type { CliContext } from '../../terminal/context.ts'
import { printJson, printPairs, printTable } from '../../terminal/print.ts'
import { addSubcommand } from '../../terminal/subcommand.ts'
import type { AlertAdmin } from '../admin.ts'
import type { Digest } from '../redis/alert-store.ts'
import { ALERT_SETTINGS, manage, stateOf } from './alert.ts'

interface DigestOptions {
  readonly every: ExportPeriod
  readonly at: string
  readonly segment?: string
  readonly empty?: boolean
  readonly json?: boolean
}

/** `ipid digest subscribe|list|unsubscribe` */
export function digestCommand(context: CliContext): Command {
  const root = new Command('digest')
  addSubcommand(
    root,
    'subscribe <tenant> <address>',
    'send a digest of the last 7 days by e-mail; a second call changes it; needs SMTP_URL',
    ALERT_SETTINGS,
  )
    .addOption(new Option('--every <period>', 'week: on Mondays').choices(EXPORT_PERIODS).default('week'))
    .option('--at <time>', 'time of day, in the time zone of the tenant', '08:00')
    .option('--segment <name>', 'only companies of this segment')
    .option('--empty', 'send it also when no company visited')
    .action(async (tenant: string, address: string, options: DigestOptions, command: Command) => {
      const { every, at, segment, empty: sendsEmpty, json } = options
      const made = await manage(context, tenant, command, (admin) =>
        admin.subscribe(tenant, { address, every, at, segment, sendsEmpty }),
      )
      print(context, shownDigest(made, segment), json)
    })
  addSubcommand(root, 'list <tenant>', 'list the subscribers of a tenant', ALERT_SETTINGS).action(
    async (tenant: string, { json }: DigestOptions, command: Command) => {
      const shown = await manage(context, tenant, command, async (admin, client) => {
        const names = new Map((await (await segmentsOf(client)).list(tenant)).map(({ id, name }) => [id, name]))
        return (await admin.digests(tenant)).map((one) => shownDigest(one, names.get(one.segment_id ?? '')))
      })
      if (json) printJson(context.stdout, shown.map(withoutState))
      else {
        const rows = shown.map(({ address, every, at, segment, state }) => [address, every, at, segment, state])
        printTable(context.stdout, ['ADDRESS', 'EVERY', 'AT', 'SEGMENT', 'STATE'], rows)
      }
    },
  )
  addSubcommand(
    root,
    'unsubscribe <tenant> <address>',
    'send it no more; waiting messages are not sent',
    ALERT_SETTINGS,
  )
    .option('--segment <name>', 'the digest of this segment; default: that of all companies')
    .action(async (tenant: string, address: string, { segment, json }: DigestOptions, command: Command) => {
      const removed = await manage(context, tenant, command, async (admin, client) => {
        const id = segment === undefined ? undefined : (await (await segmentsOf(client)).named(tenant, segment)).id
        const found = await namedDigest(admin, tenant, address, id)
        await admin.remove(found)
        return found
      })
      print(context, shownDigest(removed, segment), json)
    })
  return root
}

async function segmentsOf(client: RedisClient): Promise<Segments> {
  const { Segments } = await import('../../companies/segments/segments.ts')
  return new Segments(client, systemClock)
}

async function namedDigest(admin: AlertAdmin, tenant: string, address: string, segmentId: string | undefined) {
  const all = await admin.digests(tenant)
  const found = all.find((one) => one.target === normalAddress(address) && one.segment_id === segmentId)
  if (found === undefined)
    throw new InputError(`${address} gets no such digest of tenant ${tenant}: see ipid digest list`)
  return found
}

function print(context: CliContext, shown: ShownDigest, json = false): void {
  if (json) printJson(context.stdout, withoutState(shown))
  else {
    printPairs(context.stdout, [
      ['digest', shown.digest_id],
      ['address', shown.address],
      ['sent', `${shown.every === 'day' ? 'every day' : 'every Monday'} at ${shown.at}`],
      ['segment', shown.segment ?? 'all companies'],
      ['state', shown.state],
    ])
  }
}

function withoutState({ state: _, ...values }: ShownDigest) {
  return values
}

type ShownDigest = ReturnType<typeof shownDigest>

function shownDigest(digest: Digest, segment: string | undefined) {
  const { id, tenantId, target, every, at, sends_empty, created_at, paused, unconfirmed } = digest
  return {
    ...{ digest_id: id, tenant_id: tenantId, address: target, every, at, segment: segment ?? null },
    ...{ sends_empty: sends_empty === true, created_at, paused: paused ?? null, unconfirmed: unconfirmed ?? null },
    state: stateOf(digest),
  }
}
