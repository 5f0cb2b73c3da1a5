import { bareBound } from '../bounds/bare.ts'
import { rowsBound } from '../bounds/clickhouse-rows.ts'
import { plainIngestBound } from '../bounds/plain.ts'
import { xaddBound } from '../bounds/redis-xadd.ts'
import { type Product, redisFigures } from '../run/product.ts'
import type { Bound, Scenario, Stage } from '../run/scenario.ts'
import { withTenants } from '../support/tenants.ts'
import { type EventLoad, eventLoad, sendEvents, warmUp, warmUpLoad } from './send-events.ts'

/** Duration of stateless bounds. */
const BOUND_SECONDS = 3

function ingest(name: string, summary: string, given: EventLoad): Scenario {
  const { form } = given
  return {
    name,
    summary,
    async run(stage) {
      const { product } = stage
      const load = form === undefined ? given : { ...given, path: await sourcePath(product, form) }
      await warmUp(stage, load)
      const before = await product.redis()
      const { events, figures } = await sendEvents(stage, load)
      await product.idle()
      return { ...figures, ...redisFigures(before, await product.redis(), events) }
    },
    ...(form === undefined && { bounds: (stage: Stage) => ingestBounds(stage, given) }),
  }
}

/** Makes a source of a kind in Segment's form. @returns the path of its batches */
async function sourcePath(product: Product, kind: string): Promise<string> {
  const { key } = await withTenants(product, (admin) => admin.createSource('demo', { kind, address: 'auto' }))
  return `/s/${kind}/${key}/v1/batch`
}

async function ingestBounds(stage: Stage, load: EventLoad): Promise<Bound[]> {
  const { perRequest } = load
  const seconds = stage.atMostSeconds(BOUND_SECONDS)
  const { bound: rows, rowBytes } = await rowsBound(stage, 'events/s', seconds)
  await stage.product.idle()
  const plain = await plainIngestBound(
    stage,
    eventLoad(stage, warmUpLoad(stage, load)),
    eventLoad(stage, load),
    perRequest,
  )
  const bare = await bareBound(
    stage,
    eventLoad(stage, { ...load, seconds, tag: `${stage.tag}b` }),
    'events/s',
    perRequest,
  )
  const xadd = await xaddBound(stage, rowBytes, seconds)
  return [...plain, rows, bare, xadd].filter((bound) => bound !== undefined)
}

export const INGEST: readonly Scenario[] = [
  ingest('ingest-100', '100 events per request, from HTTP to rows', { perRequest: 100, connections: 16 }),
  ingest('ingest-1', '1 event per request, from HTTP to rows', { perRequest: 1, connections: 64 }),
  ingest('segment-100', "100 events per request, as Segment's libraries send them", {
    perRequest: 100,
    connections: 16,
    form: 'segment',
  }),
  ingest('noise', '100 events per request, 70 of them noise', {
    perRequest: 100,
    noise: 0.7,
    connections: 16,
  }),
]
