import { once } from 'node:events'
import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import type { RoleModule } from '../../app.ts'
import type { Config, Role } from '../../config/config.ts'
import type { FromRole, ToRole } from '../../embedded/processes/role-protocol.ts'
import { systemClock } from '../../run/clock.ts'
import { InputError, StartupError } from '../../run/errors.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { RecentProblems } from '../../telemetry/problems.ts'
import { collectNodeMetrics } from '../../telemetry/process-metrics.ts'

/**
 * Runs the roles that the parent names, until the parent says stop. Ends at once when the parent is gone.
 * @returns the exit code
 */
export async function runRole(load: () => Promise<RoleModule>): Promise<number> {
  if (process.send === undefined) throw new InputError('ipid role is started by ipid start')
  // Nothing is lost: work in flight was not answered yet, or is in Redis.
  process.on('disconnect', () => process.exit(1))
  if (!process.connected) return 1
  const stopped = stopRequested()
  const started = nextMessage('start')
  const loading = load()
  loading.catch(() => {})
  const start = await Promise.race([started, stopped])
  if (start.type === 'stop') return 0
  const roles = start.roles as readonly Role[]
  const config = { ...(start.config as Config), ...start.stores }
  process.title = `ipid ${roles.join(',')}`
  const problems = new RecentProblems()
  const pretty = process.stderr.isTTY
  const log = await createLogger({ level: config.logLevel, name: roles.join('+'), pretty, problems })
  const metrics = new Registry()
  metrics.setDefaultLabels({ process: roles.includes('ingress') ? 'ingress' : roles.join('+') })
  collectNodeMetrics(metrics)
  answerMetrics(metrics, log)
  exitOnPanic(log)
  try {
    const { createRoles } = await loading
    const running = await createRoles(config, roles, { log, metrics, clock: systemClock, problems })
    const { url } = await running.start()
    await tell({ type: 'ready', ...(url === undefined ? {} : { url }) })
    await stopped
    await running.stop()
    return 0
  } catch (error) {
    const known = error instanceof StartupError || error instanceof InputError
    if (!known) log.fatal({ err: error }, 'cannot start or stop the roles')
    await tell({ type: 'failed', reason: (error as Error).message })
    return 1
  }
}

function nextMessage<T extends ToRole['type']>(type: T): Promise<Extract<ToRole, { type: T }>> {
  return new Promise((resolve) => {
    const onMessage = (message: ToRole) => {
      if (message.type !== type) return
      process.removeListener('message', onMessage)
      resolve(message as Extract<ToRole, { type: T }>)
    }
    process.on('message', onMessage)
  })
}

async function stopRequested(): Promise<{ readonly type: 'stop' }> {
  await Promise.race([nextMessage('stop'), once(process, 'SIGTERM'), once(process, 'SIGINT')])
  return { type: 'stop' }
}

/** A metric that cannot be read costs one scrape, and never the process. */
function answerMetrics(registry: Registry, log: Logger): void {
  process.on('message', (message: ToRole) => {
    if (message.type !== 'metrics') return
    registry.getMetricsAsJSON().then(
      (metrics) => tell({ type: 'metrics', id: message.id, metrics }),
      (error) => log.error({ err: error }, 'cannot read the metrics of this process'),
    )
  })
}

/** After an uncaught error the state is unknown, so the supervisor starts a fresh process. */
function exitOnPanic(log: Logger): void {
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'uncaught error')
    process.exit(1)
  })
}

function tell(message: FromRole): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send!(message, () => resolve())
    else resolve()
  })
}
