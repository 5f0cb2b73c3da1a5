import { pino } from 'pino'
import { Registry } from 'prom-client'
import { ingest } from '../../../pipelines/ingest.ts'
import { openObjectStore } from '../../archive/destination.ts'
import { PartReader } from '../../archive/reader.ts'
import { ReplayTables } from '../../clickhouse/replay-tables.ts'
import { archivePlaceOf, type Config } from '../../config/config.ts'
import { systemClock } from '../../core/run/clock.ts'
import { InputError } from '../../core/run/errors.ts'
import { EnrichmentEngine } from '../../enrichment/engine.ts'
import { ReverseDns } from '../../enrichment/providers/rdns/reverse-dns.ts'
import { RedisReplayLane } from '../../redis/replay/lane.ts'
import { type ReplayReport, replay } from '../../replay/replay.ts'
import { readCondition } from '../../replay/where.ts'
import { progressBar } from '../batch/progress-bar.ts'
import type { CliContext } from '../context.ts'
import { clickhouseUrlOf, redisUrlOf } from '../instance.ts'
import { printJson, printPairs } from '../print.ts'
import { tenantAdmin, withRedis } from '../stores.ts'

export interface ReplayFlags {
  readonly tenant: string
  readonly from: string
  readonly to: string
  readonly source?: 'ingest' | 'batch'
  readonly run?: string
  readonly where: readonly string[]
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** How long the pipeline may take to store what it has. */
const WAIT_MS = 600_000

/** Returns the exit code: 1 when a part of the archive could not be read. */
export async function runReplay(config: Config, flags: ReplayFlags, context: CliContext): Promise<number> {
  const where = flags.where.map(readCondition)
  const stored = new ReplayTables(await clickhouseUrlOf(config))
  const objects = openObjectStore(archivePlaceOf(config))
  try {
    const report = await withRedis(await redisUrlOf(config), async (client) => {
      await demandTenant(tenantAdmin(client, config), flags.tenant)
      const lane = await RedisReplayLane.open(client, ingest, WAIT_MS)
      try {
        return await withEnricher(config, context, (enrichment) =>
          replay({
            selection: selectionOf(flags),
            where,
            dryRun: flags.dryRun === true,
            reenrich: false,
            reader: new PartReader(objects),
            stored,
            lane,
            ...enrichment,
            windowMs: ingest.limits.dedupWindowMs,
            ...progressOf(context),
          }),
        )
      } finally {
        await lane.close()
      }
    })
    print(report, flags, context)
    return report.damaged.length > 0 || report.unreadable > 0 ? 1 : 0
  } finally {
    await objects.close()
    await stored.close()
  }
}

function selectionOf({ tenant, from, to, source, run }: ReplayFlags) {
  return { tenantId: tenant, from, to, source, run }
}

async function demandTenant(admin: ReturnType<typeof tenantAdmin>, tenantId: string): Promise<void> {
  const tenants = await admin.listTenants()
  if (!tenants.some(({ id }) => id === tenantId)) throw new InputError(`there is no tenant "${tenantId}"`)
}

/** Enriches as the roles do. */
async function withEnricher<T>(
  { enrichDir, rdns, rdnsServers, rdnsDeadlineMs, rdnsConcurrency }: Config,
  { stderr }: CliContext,
  use: (enrichment: { readonly enricher: EnrichmentEngine; readonly hostnames: ReverseDns | undefined }) => Promise<T>,
): Promise<T> {
  const metrics = new Registry()
  const limits = { deadlineMs: rdnsDeadlineMs, concurrencyMax: rdnsConcurrency }
  const hostnames =
    rdns === 'on' ? new ReverseDns({ servers: rdnsServers, clock: systemClock, metrics, limits }) : undefined
  const engine = new EnrichmentEngine({ dir: enrichDir, hostnames, log: pino({ level: 'silent' }), metrics })
  await hostnames?.start()
  await engine.start()
  for (const { path, state, reason } of engine.providers()) {
    if (state === 'failed') stderr.write(`ipid: ${path} is left out: ${reason}\n`)
  }
  try {
    return await use({ enricher: engine, hostnames })
  } finally {
    await engine.stop()
    await hostnames?.stop()
  }
}

function progressOf(context: CliContext) {
  const bar = progressBar(context, 'replay', 'parts')
  let isShown = false
  return {
    onStep: (what: string) => {
      if (isShown) bar.stop()
      isShown = false
      context.stderr.write(`${what}\n`)
    },
    onProgress: ({ parts, partsDone }: { readonly parts: number; readonly partsDone: number }) => {
      if (!isShown) bar.start(parts, partsDone)
      else bar.update(partsDone)
      isShown = true
    },
  }
}

function print(report: ReplayReport, { dryRun, json }: ReplayFlags, { stdout, stderr }: CliContext): void {
  const { parts, behind, counts, unreadable, damaged } = report
  if (json) {
    printJson(stdout, { dry_run: dryRun === true, parts, behind: behind ?? null, ...counts, unreadable, damaged })
    return
  }
  for (const problem of damaged) stderr.write(`ipid: left out: ${problem}\n`)
  if (behind !== undefined) stderr.write(`went on behind ${behind}, where it was ended before\n`)
  printPairs(stdout, [
    ['parts read', parts],
    ['stored already', counts.stored],
    ['counted already, not stored', counts.counted],
    ['dead letters', counts.dead],
    ['lost, and not asked for', counts.left],
    [dryRun ? 'would be put back' : 'put back', counts.replayed],
    ...(unreadable > 0 ? ([['lines that are no event', unreadable]] as const) : []),
  ])
}
