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

const Ready = Type.Object({ status: Type.Literal('ready') }, { title: 'Readiness' })
const BODY = JSON.stringify({ status: 'ready' })

/** `GET /readyz`: this process can take an event and keep it. Whether accepted events make progress is `GET /progress` of the admin port. */
export function readyzRoute(readiness: Readiness): Route {
  return {
    method: 'GET',
    path: '/readyz',
    access: 'open',
    operation: {
      id: 'ready',
      summary:
        'Whether this process can take an event and keep it: Redis takes writes, and the enrichment data are loaded',
      responses: {
        200: { description: 'The process can take events', schema: Ready, example: { status: 'ready' } },
      },
      errors: [503],
    },
    async handle() {
      const problems = await check(readiness)
      if (problems.length === 0) return { status: 200, body: BODY }
      throw new HttpError('not_ready', `not ready: ${problems.join('; ')}`, { headers: { 'retry-after': '1' } })
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
