import { ingest } from '../pipelines/ingest.ts'
import { alertRole } from './alerts/role.ts'
import type { Role } from './config/config.ts'
import { crmRole } from './crm/role.ts'
import { dashboardRole } from './dashboard/role/role.ts'
import { daysRole } from './days/role.ts'
import { exportRole } from './exports/role.ts'
import { ingressRole } from './http/api/role.ts'
import { backupRole } from './operations/backup/role.ts'
import { reenrichmentRole } from './operations/replay/role.ts'
import { reporter } from './operations/status/role/process.ts'
import { activePipeline, type Pipeline } from './pipeline/declaration/pipeline.ts'
import { validatePipeline } from './pipeline/declaration/validate-pipeline.ts'
import { processRole } from './pipeline/runner/role.ts'
import { archiveRole } from './pipeline/sinks/archive/role.ts'
import { sinkRole } from './pipeline/sinks/role.ts'
import { batchRole } from './pipeline/sources/batch/role.ts'
import { pullRole } from './pipeline/sources/pulls/role.ts'
import { type AppConfig, ProcessContext, type Telemetry } from './process/context.ts'
import { topology } from './process/topology.ts'
import { StartupError } from './run/errors.ts'
import { type Service, ServiceGroup } from './run/service.ts'

/** A process with its roles, ready to start. */
export interface App {
  /** Resolves when every role works. `url` is the address of the API, or else of the dashboard, if the process has that role. */
  start(): Promise<{ url?: string }>
  stop(): Promise<void>
}

/** A module that a role process runs. */
export interface RoleModule {
  createRoles(config: AppConfig, roles: readonly Role[], telemetry: Telemetry): Promise<App>
}

/**
 * Builds a process with these roles. Opens connections, which wait for their servers, and does no other I/O.
 * @throws StartupError when the declaration of the pipeline is invalid
 */
export async function createRoles(
  config: AppConfig,
  roles: readonly Role[],
  telemetry: Telemetry,
  declared: Pipeline = ingest,
): Promise<App> {
  const problems = validatePipeline(declared)
  if (problems.length > 0) throw new StartupError(`the declaration of the pipeline is invalid: ${problems.join('; ')}`)
  const context = new ProcessContext(config, telemetry, activePipeline(declared, config.own))
  const has = (role: Role) => roles.includes(role)
  const work: Service[] = []
  // In a group of their own: sinks need not wait for enrichment data, as steps and listeners do.
  const sinks = new ServiceGroup('sinks', has('sink') ? sinkRole(context) : [])
  if (has('archive')) work.push(...archiveRole(context), ...reenrichmentRole(context), ...backupRole(context))
  if (has('sink')) work.push(...daysRole(context), ...alertRole(context), ...exportRole(context), ...crmRole(context))
  if (has('process')) work.push(...processRole(context))
  if (has('batch')) work.push(...batchRole(context), ...pullRole(context))
  const ingress = has('ingress') ? ingressRole(context) : undefined
  const dashboard = has('dashboard') ? dashboardRole(context) : undefined
  const listeners = [...(ingress?.services ?? []), ...(dashboard?.services ?? [])]
  const others = new ServiceGroup('others', [...context.services, ...work, ...listeners])
  const services = new ServiceGroup('services', [sinks, others], { atOnce: true })
  const waits: Service = { name: 'waits', start: async () => telemetry.problems?.ready(), stop: async () => {} }
  // The reporter starts last, so that its first report is true.
  const group = new ServiceGroup('roles', [topology(context), services, waits, reporter(context, roles)])
  return {
    async start() {
      await group.start()
      const url = ingress?.http.url ?? dashboard?.url()
      return url === undefined ? {} : { url }
    },
    async stop() {
      await group.stop().finally(() => context.disconnect())
    },
  }
}
