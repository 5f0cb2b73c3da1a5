import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadSpec } from '../loader/loader.ts'
import { hasAddressData } from '../plain/address-data.ts'
import { startPlainHttp, startPlainStack } from '../plain/stack.ts'
import type { Bound, Stage } from '../run/scenario.ts'

const NAME = 'plain stack'
const STORED_WITHIN_MS = 180_000

/** The same load on the plain stack, from HTTP to rows. @param perRequest events of a request */
export async function plainIngestBound(stage: Stage, spec: LoadSpec, perRequest: number): Promise<Bound[]> {
  if (!known(stage)) return []
  const stack = await startPlainStack(stage)
  try {
    const beganMs = performance.now()
    const { requests, seconds } = await stage.load({ ...spec, url: stack.url })
    const events = requests * perRequest
    const deadlineMs = performance.now() + STORED_WITHIN_MS
    while ((await stack.count()) < events) {
      if (performance.now() > deadlineMs) throw new Error('the plain stack does not come to an end')
      await sleep(20)
    }
    return [
      { name: NAME, figure: 'events/s', value: (events * 1_000) / (performance.now() - beganMs) },
      { name: NAME, figure: 'answered events/s', value: events / seconds },
    ]
  } finally {
    await stack.stop()
  }
}

/** Lookups by Fastify and maxmind, without key and limits. @param perRequest addresses of a request */
export async function plainLookupBound(
  stage: Stage,
  spec: LoadSpec,
  figure: string,
  perRequest: number,
): Promise<Bound | undefined> {
  if (!known(stage)) return undefined
  const server = await startPlainHttp(stage)
  try {
    const loaded = await stage.load({ ...spec, url: server.url })
    return { name: 'Fastify + maxmind', figure, value: (loaded.requests * perRequest) / loaded.seconds }
  } finally {
    await server.stop()
  }
}

function known(stage: Stage): boolean {
  if (hasAddressData()) return true
  stage.say('@ip-location-db/geo-whois-asn-country-mmdb is not installed: the plain stack is left out')
  return false
}
