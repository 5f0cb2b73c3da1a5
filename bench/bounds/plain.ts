import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadSpec } from '../loader/loader.ts'
import { hasAddressData } from '../plain/address-data.ts'
import { type PlainStack, startPlainHttp, startPlainStack } from '../plain/stack.ts'
import type { Bound, Stage } from '../run/scenario.ts'

/** The name of its bounds. */
export const PLAIN_STACK = 'plain stack'
const STORED_WITHIN_MS = 180_000

/**
 * Applies the same load to the plain stack, from HTTP to rows.
 * @param warmUp the product's warm-up, with other events
 * @param perRequest events per request
 */
export async function plainIngestBound(
  stage: Stage,
  warmUp: LoadSpec,
  spec: LoadSpec,
  perRequest: number,
): Promise<Bound[]> {
  if (!known(stage)) return []
  const stack = await startPlainStack(stage)
  try {
    await sendAndStore(stage, stack, warmUp, perRequest)
    const before = stack.cpuSeconds()
    const { requests, seconds, behindSeconds } = await sendAndStore(stage, stack, spec, perRequest)
    const events = requests * perRequest
    const bound = (figure: string, value: number) => ({ name: PLAIN_STACK, figure, value })
    return [
      bound('events/s', events / (seconds + behindSeconds)),
      bound('answered events/s', events / seconds),
      bound('cpu together µs/event', ((stack.cpuSeconds() - before) * 1e6) / events),
    ]
  } finally {
    await stack.stop()
  }
}

async function sendAndStore(stage: Stage, stack: PlainStack, spec: LoadSpec, perRequest: number) {
  const before = await stack.count()
  const loaded = await stage.load({ ...spec, url: stack.url })
  const answeredMs = performance.now()
  while ((await stack.count()) < before + loaded.requests * perRequest) {
    if (performance.now() - answeredMs > STORED_WITHIN_MS)
      throw new Error('the plain stack did not store all events in time')
    await sleep(20)
  }
  return { ...loaded, behindSeconds: (performance.now() - answeredMs) / 1_000 }
}

/**
 * Lookups by Fastify and maxmind, without key and limits.
 * @param warmUp the product's warm-up
 * @param perRequest addresses per request
 */
export async function plainLookupBound(
  stage: Stage,
  warmUp: LoadSpec,
  spec: LoadSpec,
  figure: string,
  perRequest: number,
): Promise<Bound | undefined> {
  if (!known(stage)) return undefined
  const server = await startPlainHttp(stage)
  try {
    await stage.load({ ...warmUp, url: server.url })
    const loaded = await stage.load({ ...spec, url: server.url })
    return { name: 'Fastify + maxmind', figure, value: (loaded.requests * perRequest) / loaded.seconds }
  } finally {
    await server.stop()
  }
}

function known(stage: Stage): boolean {
  if (hasAddressData()) return true
  stage.say('@ip-location-db/geo-whois-asn-country-mmdb is not installed: skipping the plain stack')
  return false
}
