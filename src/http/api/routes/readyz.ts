import { setTimeout as sleep } from 'node:timers/promises'
import { Type } from 'typebox'
import { HttpError } from '../../engine/http-error.ts'
import type { Route } from '../../route/route.ts'

/** Reports whether the dependencies of requests can serve. */
export interface Readiness {
  /** The problems, one phrase each; empty when there are none. A slow or rejected check counts as a problem. */
  problems(): Promise<readonly string[]>
}

/** A check that takes longer has failed, milliseconds. */
const CHECK_MAX_MS = 1_500

const Ready = Type.Object({ status: Type.Literal('ready') })
const BODY = JSON.stringify({ status: 'ready' })

/** `GET /readyz`: the process can serve requests. */
export function readyzRoute(readiness: Readiness): Route {
  return {
    method: 'GET',
    path: '/readyz',
    access: 'open',
    operation: {
      id: 'ready',
      summary: 'Whether Redis and the enrichment data can serve requests, and accepted events are processed',
      responses: {
        200: { description: 'The process can serve requests', schema: Ready, example: { status: 'ready' } },
      },
      errors: [503],
    },
    async handle() {
      const problems = await check(readiness)
      if (problems.length === 0) return { status: 200, body: BODY }
      throw new HttpError(503, `not ready: ${problems.join('; ')}`, { headers: { 'retry-after': '1' } })
    },
  }
}

async function check(readiness: Readiness): Promise<readonly string[]> {
  const done = new AbortController()
  const late = sleep(CHECK_MAX_MS, ['the check takes too long'], { signal: done.signal }).catch(() => [])
  try {
    return await Promise.race([readiness.problems(), late])
  } catch {
    return ['the check failed']
  } finally {
    done.abort()
  }
}
