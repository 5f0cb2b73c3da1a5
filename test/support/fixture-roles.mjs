import { createServer } from 'node:http'
import { Counter } from 'prom-client'

/**
 * Roles that only show what a role process received. Ingress answers every request with it; `PUT /slow` is
 * answered when the roles stop. A tenant plan named `broken` makes the start fail.
 */
export const createRoles = async (config, roles, { metrics, log }) => {
  let server
  let finishSlow
  const shown = { pid: process.pid, roles, redisUrl: config.redisUrl }
  const starts = new Counter({ name: 'fixture_starts_total', help: 'Starts.', registers: [metrics] })
  return {
    async start() {
      if (config.plans.has('broken')) throw new Error('the plan is broken')
      starts.inc()
      log.info({ redisUrl: config.redisUrl }, 'fixture started')
      if (!roles.includes('ingress')) return {}
      server = createServer((request, response) => {
        const answer = () => response.end(JSON.stringify({ ...shown, waiting: finishSlow !== undefined }))
        if (request.method === 'PUT') finishSlow = answer
        else answer()
      })
      await new Promise((resolve) => server.listen(config.port, config.host, resolve))
      return { url: `http://${config.host}:${server.address().port}` }
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
