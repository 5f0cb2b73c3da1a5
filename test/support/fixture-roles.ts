import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Counter } from 'prom-client'
import type { RoleModule } from '../../src/app.ts'
import { StartupError } from '../../src/run/errors.ts'

/**
 * Roles that do nothing but show what a role process was given. Ingress answers every request with it; `PUT /slow` is
 * answered when the roles are told to stop. A tenant plan named `broken` makes the start fail.
 */
export const createRoles: RoleModule['createRoles'] = async (config, roles, { metrics, log }) => {
  let server: Server | undefined
  let finishSlow: (() => void) | undefined
  const shown = { pid: process.pid, roles, redisUrl: config.redisUrl }
  const starts = new Counter({ name: 'fixture_starts_total', help: 'Starts.', registers: [metrics] })
  return {
    async start() {
      if (config.plans.has('broken')) throw new StartupError('the plan is broken')
      starts.inc()
      log.info({ redisUrl: config.redisUrl }, 'fixture started')
      if (!roles.includes('ingress')) return {}
      server = createServer((request, response) => {
        const answer = () => response.end(JSON.stringify({ ...shown, waiting: finishSlow !== undefined }))
        if (request.method === 'PUT') finishSlow = answer
        else answer()
      })
      await new Promise<void>((resolve) => server!.listen(config.port, config.host, resolve))
      return { url: `http://${config.host}:${(server.address() as AddressInfo).port}` }
    },
    async stop() {
      log.info({ roles }, 'fixture stops')
      const closed = new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)))
      finishSlow?.()
      server?.closeIdleConnections()
      await closed
    },
  }
}
