import type { LoadSpec } from '../loader/loader.ts'
import { startChild } from '../run/child.ts'
import type { Bound, Stage } from '../run/scenario.ts'

/** A bare uWebSockets.js server that sends the product's response to the same body. */
interface BareServer {
  readonly url: string
  stop(): Promise<void>
}

/**
 * @param body sent to the product once, to get its response
 * @param keepsIn file for the bodies, fsynced before each response; default: bodies are discarded
 */
export async function startBareServer(stage: Stage, path: string, body: string, keepsIn?: string): Promise<BareServer> {
  const { product } = stage
  const headers = { 'x-api-key': product.apiKey, 'content-type': 'application/json' }
  const answered = await fetch(`${product.url}${path}`, { method: 'POST', headers, body })
  const answer = await answered.text()
  if (!answered.ok) throw new Error(`${path} answered ${answered.status} ${answer}`)
  const contentType = answered.headers.get('content-type') ?? 'application/json'
  const child = startChild<{ url: string }>('bounds/bare-process.ts', { answer, contentType, keepsIn })
  const stop = stage.releases.add(() => child.stop())
  return { url: (await child.said).url, stop }
}

/**
 * Applies the same load to the bare server.
 * @param figure name of the product's figure, in units per second
 * @param perRequest units per request
 */
export async function bareBound(stage: Stage, spec: LoadSpec, figure: string, perRequest: number): Promise<Bound> {
  const server = await startBareServer(stage, spec.path, spec.bodies[0]!)
  try {
    const loaded = await stage.load({ ...spec, url: server.url })
    return { name: 'bare uWebSockets.js', figure, value: (loaded.requests * perRequest) / loaded.seconds }
  } finally {
    await server.stop()
  }
}
