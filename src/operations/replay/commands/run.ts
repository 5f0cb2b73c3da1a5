import { ingest } from '../../../../pipelines/ingest.ts'
import type { TenantRules } from '../../../../schemas/tenant-rules.ts'
import { archiveLocationOf, type Config } from '../../../config/config.ts'
import { madeData } from '../../../enrichment/commands/default-data.ts'
import { leftOut } from '../../../enrichment/files/report.ts'
import { tenantEnricher } from '../../../enrichment/judge.ts'
import { TodaysData } from '../../../enrichment/todays-data.ts'
import type { AddressMask } from '../../../pipeline/event/pseudonym.ts'
import { openObjectStore } from '../../../pipeline/sinks/archive/destination.ts'
import { progressBar } from '../../../pipeline/sources/batch/commands/progress-bar.ts'
import { activeOn } from '../../../pipeline/streams/topology.ts'
import { systemClock } from '../../../run/clock.ts'
import { numbered } from '../../../run/counted.ts'
import { InputError } from '../../../run/errors.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { addressMaskOf, type Tenant } from '../../../tenants/tenancy.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { clickhousePlaceOf, redisUrlOf } from '../../../terminal/instance.ts'
import { printJson, printLine, printPairs, printTable } from '../../../terminal/print.ts'
import { withRewriteLease } from '../../../terminal/rewrite-lease.ts'
import { withRedis } from '../../../terminal/stores.ts'
import { tenantOf } from '../../../terminal/tenant-of.ts'
import { ClickHouseReenrichment } from '../../reenrich/clickhouse.ts'
import { endReenrichment } from '../../reenrich/end.ts'
import { assertReadable } from '../../reenrich/reenrich.ts'
import type { RewriteHold } from '../../reenrich/rewrite-hold.ts'
import { retentionFloor } from '../../retention/policy.ts'
import { PartReader } from '../archive-reader.ts'
import { type Enriching, withOwnEnrichment } from '../own-enrichment.ts'
import { RedisReplayLane } from '../redis/lane.ts'
import { type ReplayReport, replay } from '../replay.ts'
import { ReplayTables } from '../replay-tables.ts'
import { type Condition, readCondition } from '../where.ts'
import { type ReenrichResult, runReenrich } from './reenrich.ts'

export interface ReplayFlags {
  readonly tenant: string
  readonly from: string
  readonly to: string
  readonly source?: 'ingest' | 'batch'
  readonly run?: string
  readonly where?: readonly string[]
  readonly reenrich?: boolean
  readonly dryRun?: boolean
  readonly json?: boolean
}

interface ReplayRequest extends Omit<ReplayFlags, 'where'> {
  readonly where: readonly Condition[]
  readonly mask: AddressMask | undefined
  /** Rules of the tenant. */
  readonly rules: TenantRules
}

/** How long to wait for the pipeline to store its events. */
const WAIT_MS = 600_000

/** Returns the exit code: 1 when it could not read a part of the archive. */
export async function runReplay(config: Config, flags: ReplayFlags, context: CliContext): Promise<number> {
  const where = (flags.where ?? []).map(readCondition)
  const tenant = await tenantOf(config, flags.tenant)
  const from = firstKeptDay(config, tenant, flags)
  if (from > flags.from) printLine(context.stderr, `skipping events received before ${from}: retention removes them`)
  const folders = await madeData(config)
  const request = { ...flags, from, where, mask: addressMaskOf(tenant), rules: tenant }
  // Data are loaded before the lease is taken: nothing renews it while a large file is read.
  const todays = flags.reenrich ? await TodaysData.open(folders) : undefined
  const [report, rejudged] = await withOwnEnrichment(config, folders, async (enriching) =>
    withRedis(await redisUrlOf(config), (client) => {
      const run = (hold: RewriteHold | undefined) =>
        runWith({ client, hold, todays, enriching }, config, request, context)
      if (flags.dryRun) return run(undefined)
      return withRewriteLease(client, flags.reenrich ? 're-enrichment' : 'a replay', run)
    }),
  )
  for (const problem of report.damaged) printLine(context.stderr, `ipid: skipped: ${problem}`)
  if (flags.json) printJson(context.stdout, jsonOf(report, rejudged, flags.dryRun === true))
  else print(report, rejudged, flags.dryRun === true, context)
  return report.damaged.length > 0 || report.unreadable > 0 ? 1 : 0
}

/** @throws InputError when retention removes all of these days */
function firstKeptDay({ retentionDays }: Config, tenant: Tenant, { from, to }: ReplayFlags): string {
  if (tenant.deleting) throw new InputError(`tenant "${tenant.id}" is being deleted`)
  const ofTenants = new Map(tenant.retentionDays === undefined ? [] : [[tenant.id, tenant.retentionDays]])
  const floor = retentionFloor({ defaultDays: retentionDays, ofTenants }, tenant.id, systemClock.now())
  if (floor === undefined || floor <= from) return from
  if (floor <= to) return floor
  throw new InputError(`--to ${to}: must be ${floor} or later; retention removes older events of tenant "${tenant.id}"`)
}

interface ReplayTools {
  readonly client: RedisClient
  /** Undefined: a dry run. */
  readonly hold: RewriteHold | undefined
  /** Undefined: stored events are not judged again. */
  readonly todays: TodaysData | undefined
  readonly enriching: Enriching
}

async function runWith(
  { client, hold, todays, enriching: { engine, hostnames } }: ReplayTools,
  config: Config,
  flags: ReplayRequest,
  context: CliContext,
): Promise<readonly [ReplayReport, ReenrichResult | undefined]> {
  const { tenant: tenantId, from, to, run: job, where, mask, rules, reenrich = false, dryRun = false } = flags
  const { onStep: say, onProgress } = progressOf(context)
  const place = await clickhousePlaceOf(config)
  const events = new ClickHouseReenrichment(place)
  const stored = new ReplayTables(place)
  const objects = openObjectStore(archiveLocationOf(config))
  try {
    const assertHeld = () => hold?.assertHeld()
    const held = { events, assertHeld, say, ...(hold && { onReplaced: hold.onReplaced }) }
    if (hold === undefined) await assertReadable(events)
    else await endReenrichment(place, hold, say)
    const rejudged = todays && (await runReenrich({ tenantId, rules, from, to, job, dryRun }, { ...held, todays }))
    const lane = await RedisReplayLane.open(client, await activeOn(client, ingest), { waitMs: WAIT_MS, assertHeld })
    for (const { path, reason } of leftOut(engine.providers()))
      printLine(context.stderr, `ipid: ${path} is left out: ${reason}`)
    const report = await replay({
      ...{ selection: selectionOf(flags), where, mask, dryRun, reenrich, onStep: say, onProgress },
      ...{ reader: new PartReader(objects), stored, lane, hostnames, enricher: tenantEnricher(engine, rules) },
      windowMs: ingest.limits.dedupWindowMs,
    })
    return [report, rejudged]
  } finally {
    await events.close()
    await stored.close()
    await objects.close()
  }
}

function selectionOf({ tenant, from, to, source, run }: Omit<ReplayFlags, 'where'>) {
  return { tenantId: tenant, from, to, source, run }
}

function progressOf(context: CliContext) {
  const bar = progressBar(context, 'replay', 'parts')
  let isShown = false
  return {
    onStep: (what: string) => {
      if (isShown) bar.stop()
      isShown = false
      printLine(context.stderr, what)
    },
    onProgress: ({ parts, partsDone }: { readonly parts: number; readonly partsDone: number }) => {
      if (!isShown) bar.start(parts, partsDone)
      else bar.update(partsDone)
      isShown = true
    },
  }
}

/** Reenriching turns stored events into counted ones. A dry run cannot tell the two apart, so this adds them up. */
function jsonOf(report: ReplayReport, rejudged: ReenrichResult | undefined, dryRun: boolean) {
  const { parts, resumedAfter = null, counts, unreadable, damaged } = report
  if (rejudged === undefined) {
    const { found: _, ...numbers } = counts
    return { dry_run: dryRun, parts, behind: resumedAfter, ...numbers, unreadable, damaged }
  }
  const { stored, counted, ...numbers } = counts
  return {
    ...rejudged,
    archive: { parts, behind: resumedAfter, there: stored + counted, ...numbers, unreadable, damaged },
  }
}

function print(
  report: ReplayReport,
  rejudged: ReenrichResult | undefined,
  dryRun: boolean,
  { stdout, stderr }: CliContext,
): void {
  const { parts, resumedAfter, counts, unreadable } = report
  if (resumedAfter !== undefined)
    printLine(
      stderr,
      `resumed after ${resumedAfter}, where an earlier run stopped; run it again to check the parts before it`,
    )
  if (rejudged !== undefined) {
    printReenrich(stdout, rejudged)
    printLine(stdout, '')
  }
  const there = [
    ['stored already', counts.stored],
    ['counted already, not stored', counts.counted],
  ] as const
  printPairs(stdout, [
    ['parts of the archive', parts],
    ...(rejudged === undefined ? there : [['stored or counted already', counts.stored + counts.counted] as const]),
    ['dead letters', counts.dead],
    ['lost, not selected', counts.left],
    ['lost, replayed', counts.replayed],
    ...(rejudged === undefined ? [] : [['filtered before, replayed', counts.found] as const]),
    ...(unreadable > 0 ? [['unreadable lines', unreadable] as const] : []),
    ...(dryRun ? [['dry run', 'nothing was changed'] as const] : []),
  ])
}

/** Accounts in each printed table; `--json` has all. */
const LISTED = 20

/** Prints the changes, or those that a dry run found. */
function printReenrich(out: NodeJS.WritableStream, result: ReenrichResult): void {
  const { events, renamed, merged, found, lost, filtered, other } = result
  const classes = Object.entries(filtered.classifications).map(([name, n]) => `${name} ${n}`)
  printPairs(out, [
    ['tenant', result.tenant_id],
    ['received', `${result.from} to ${result.to}, until ${result.received_until}`],
    ['data', result.data.join(', ')],
    ['dry run', result.dry_run ? 'yes: nothing was changed' : 'no'],
    ['events judged', `${events.judged}, from ${numbered(result.addresses, 'address', 'addresses')}`],
    ['not judged', events.not_judged === 0 ? 0 : `${eventsText(events.not_judged)} stored without their address`],
    ['events changed', events.changed],
    ['accounts renamed', `${renamed.accounts} with ${eventsText(renamed.events)}`],
    ['accounts merged', `${merged.accounts} with ${eventsText(merged.events)}`],
    ['newly found', `${eventsText(found.events)}; accounts that are new: ${found.accounts}`],
    ['newly lost', `${eventsText(lost.events)} of ${numbered(lost.accounts, 'account')}`],
    ['newly filtered', `${eventsText(filtered.events)}${classes.length === 0 ? '' : `: ${classes.join(', ')}`}`],
    ['shown again', eventsText(result.shown.events)],
    ['other changes', `${eventsText(other.events)}: host name, AS or quality`],
  ])
  if (merged.list.length > 0) {
    printLine(out, '')
    const rows = merged.list
      .slice(0, LISTED)
      .map(({ from, to, to_is_new, events: n }) => [from, to, to_is_new ? 'new' : 'existing', n])
    printTable(out, ['ACCOUNT', 'BECOMES', 'WHICH IS', 'EVENTS'], rows)
  }
  if (renamed.list.length > 0) {
    printLine(out, '')
    const rows = renamed.list
      .slice(0, LISTED)
      .map(({ account_id, before, after, events: n }) => [account_id, nameOf(before), nameOf(after), n])
    printTable(out, ['ACCOUNT', 'BEFORE', 'AFTER', 'EVENTS'], rows)
  }
}

const eventsText = (events: number) => numbered(events, 'event')

function nameOf({ business_name, domain }: ReenrichResult['renamed']['list'][number]['before']): string {
  return [business_name, domain].filter((text) => text !== '').join(', ')
}
