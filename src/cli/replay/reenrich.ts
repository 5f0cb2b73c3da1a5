import { randomUUID } from 'node:crypto'
import { ClickHouseReenrichment } from '../../clickhouse/reenrich.ts'
import type { Config } from '../../config/config.ts'
import { InputError } from '../../core/run/errors.ts'
import { TodaysData } from '../../enrichment/todays-data.ts'
import { finishReenrich, previewReenrich, type ReplacementParts, reenrich } from '../../reenrich/reenrich.ts'
import type { ReenrichReport } from '../../reenrich/report.ts'
import { clickhouseUrlOf, redisUrlOf } from '../instance.ts'
import { whileNobodyRewrites } from '../rewrite-lease.ts'
import { withRedis } from '../stores.ts'

/** What `ipid replay --reenrich` was asked. */
export interface ReenrichRequest {
  readonly config: Config
  readonly tenantId: string
  /** UTC days of receipt, `YYYY-MM-DD`, both included. */
  readonly from: string
  readonly to: string
  readonly dryRun: boolean
  /** Only events of this batch job. */
  readonly job?: string
}

/** What came of it. */
export interface ReenrichResult extends ReenrichReport {
  readonly tenant_id: string
  readonly from: string
  readonly to: string
  readonly dry_run: boolean
  /** What was received later was left alone, ISO 8601 UTC. */
  readonly received_until: string
  /** The data sets that judged, in order of trust. */
  readonly data: readonly string[]
}

/**
 * Judges stored events by today's data, and unless it is a dry run replaces those that change. A run that was cut off is
 * finished before.
 * @param say gets lines for somebody who waits
 */
export async function runReenrich(request: ReenrichRequest, say: (line: string) => void): Promise<ReenrichResult> {
  const { config, tenantId, from, to, job, dryRun } = request
  const data = await TodaysData.open(config.enrichDir)
  const receivedUntilMs = Date.now()
  const selection = { tenantId, from, to, job, receivedUntilMs }
  const report = dryRun
    ? await withStored(config, (events) => previewReenrich(selection, { events, data, say }))
    : await replacing(config, say, (parts) => reenrich(selection, { ...parts, data, run: randomUUID() }))
  return {
    tenant_id: tenantId,
    from,
    to,
    dry_run: dryRun,
    received_until: new Date(receivedUntilMs).toISOString(),
    data: data.names,
    ...report,
  }
}

/**
 * Finishes a re-enrichment that was cut off, of whatever tenant, and removes what one left that changed nothing: copies of
 * events. To be called, inside of `whileNobodyRewrites`, before anything else replaces or removes stored events.
 * @returns whether there was one to finish
 */
export async function finishInterruptedReenrich(
  config: Config,
  assertHeld: () => void,
  say: (line: string) => void,
): Promise<boolean> {
  return await withStored(config, async (events) => {
    const finished = await finishReenrich({ events, replacement: events, assertHeld, say })
    await events.discard()
    return finished !== undefined
  })
}

/** A UTC day. @throws InputError */
export function dayOf(flag: string, text: string): string {
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text
  if (!isDay) throw new InputError(`${flag} ${JSON.stringify(text)}: wants a UTC day such as 2026-11-22`)
  return text
}

async function withStored<T>(config: Config, use: (events: ClickHouseReenrichment) => Promise<T>): Promise<T> {
  const events = new ClickHouseReenrichment(await clickhouseUrlOf(config))
  try {
    return await use(events)
  } finally {
    await events.close()
  }
}

type HeldParts = Pick<ReplacementParts, 'events' | 'replacement' | 'assertHeld' | 'say'>

/** One at a time, over all tenants. */
async function replacing<T>(
  config: Config,
  say: (line: string) => void,
  use: (parts: HeldParts) => Promise<T>,
): Promise<T> {
  return await withRedis(await redisUrlOf(config), (client) =>
    whileNobodyRewrites(client, 're-enrichment', (assertHeld) =>
      withStored(config, (events) => use({ events, replacement: events, assertHeld, say })),
    ),
  )
}
