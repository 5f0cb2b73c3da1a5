import type { SourceFacts } from '../../../../schemas/api-key.ts'
import {
  type CreatedSourceAnswer,
  CreateSourceBody,
  RevokeSourceBody,
  SetSourceBody,
  SOURCES_MAX,
  SourceSetupQuery,
  type SourcesAnswer,
} from '../../../../schemas/dashboard/sources.ts'
import { httpOrigin } from '../../../config/values.ts'
import type { Source, SourceTool } from '../../../pipeline/declaration/source.ts'
import { MAPPED_FIELDS } from '../../../pipeline/sources/mapped-fields.ts'
import { parseMapping } from '../../../pipeline/sources/mapping.ts'
import type { PullStatus } from '../../../pipeline/sources/pulls/state.ts'
import type { Clock } from '../../../run/clock.ts'
import { BackpressureError, InputError, UnavailableError } from '../../../run/errors.ts'
import type { TenantAdmin } from '../../../tenants/admin.ts'
import { sourceReport } from '../../../tenants/sources/report.ts'
import { assertAddressCounts, setupOf } from '../../../tenants/sources/setup.ts'
import type { StoredSource } from '../../../tenants/stores.ts'
import type { ClickHouseSources } from '../../queries/sources.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { makerOf } from '../sessions.ts'

export interface SourceDependencies {
  readonly admin: Pick<
    TenantAdmin,
    'getSource' | 'pageSources' | 'createSource' | 'setSource' | 'setTenant' | 'revokeSource'
  >
  /** Base URL of the API in this process's settings; see `SourceFacts.base`. */
  readonly apiUrl: string
  /** API_URL. */
  readonly publicApiUrl: string | undefined
  /** All sources of the pipeline. */
  readonly sources: readonly Pick<Source, 'name' | 'tool'>[]
  readonly counts: Pick<ClickHouseSources, 'counts'>
  /** State of the sources that ipid pulls, by id. */
  readonly fetches: (sources: readonly StoredSource[]) => Promise<ReadonlyMap<string, PullStatus>>
  readonly clock: Clock
}

/** `/api/tenants/:tenant/sources`: manages the sources of a tenant. Sources of other tenants are unknown. */
export function sourceRoutes({
  admin,
  apiUrl,
  publicApiUrl,
  sources,
  counts,
  fetches,
  clock,
}: SourceDependencies): DashboardRoute[] {
  const tools = new Map(sources.flatMap(({ name, tool }) => (tool === undefined ? [] : [[name, tool] as const])))
  const kinds = [...tools].map(([kind, { title = kind, group = 'libraries', options = '', presets }]) => ({
    ...{ kind, title, group, options },
    presets: (presets ?? []).map(({ name, about }) => ({ name, about })),
    fields: presets === undefined ? [] : [...MAPPED_FIELDS],
  }))
  const knownTool = (kind: string) => {
    const tool = tools.get(kind)
    if (tool === undefined) throw new InputError(`kind: this version does not know ${JSON.stringify(kind)}`)
    return tool
  }
  const ofTenant = async (tenantId: string, id: string) => {
    const found = await admin.getSource(id)
    // The same error as for a source that does not exist.
    if (found.tenantId !== tenantId) throw new InputError(`no source has the id ${id}`)
    return found
  }
  const changed = (found: StoredSource) =>
    json(sourceReport(found, tools.get(found.source.kind), undefined, clock.now()))
  return [
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/sources',
      async handle({ tenant }) {
        const [page, health] = await Promise.all([
          admin.pageSources(tenant.id, undefined, SOURCES_MAX),
          counts.counts(tenant.id).catch(reasonOf),
        ])
        const fetched = await fetches(page.keys)
        const known = typeof health === 'string' ? undefined : health
        const answer: SourcesAnswer = {
          api_url: tenant.apiUrl ?? publicApiUrl ?? null,
          sources: page.keys.map((found) => sourceReport(found, tools.get(found.source.kind), known, clock.now())),
          total: page.total,
          kinds,
          fetches: [...fetched].map(([source_id, { status, text, place }]) => ({ source_id, status, text, place })),
          problem: typeof health === 'string' ? health : null,
        }
        return json(answer)
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/sources',
      access: 'admin',
      body: CreateSourceBody,
      async handle({ tenant, session, body: { kind, name, base, preset, map } }) {
        const [tool, origin] = [toolOf(tools, kind), baseOf(base)]
        const fields = fieldFacts(tool, preset, map)
        const facts = { kind, address: 'auto', base: origin, ...(name && { name }), ...fields } as const
        const created = await admin.createSource(tenant.id, facts, { keys: tool.keys, madeBy: makerOf(session) })
        if (tenant.apiUrl === undefined && publicApiUrl === undefined)
          await admin.setTenant(tenant.id, { api_url: origin })
        const { id, key, browserKey = null, source, createdAt } = created
        const answer: CreatedSourceAnswer = {
          source_id: id,
          kind,
          key,
          browser_key: browserKey,
          url: origin + tool.path(key),
          setup: setupOf(tool, { prefix: id, source }, origin, key),
          created_at: createdAt,
        }
        return json(answer)
      },
    }),
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/sources/setup',
      query: SourceSetupQuery,
      async handle({ tenant, query: { source: id } }) {
        const found = await ofTenant(tenant.id, id)
        return json(setupOf(knownTool(found.source.kind), found, found.source.base ?? tenant.apiUrl ?? apiUrl))
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/sources/set',
      access: 'admin',
      body: SetSourceBody,
      async handle({ tenant, body: { source_id: id, name, address, base } }) {
        const { source } = await ofTenant(tenant.id, id)
        if (address !== undefined && address !== source.address)
          assertAddressCounts(tools.get(source.kind), source.kind)
        const change = { ...(name && { name }), ...(address && { address }), ...(base && { base: baseOf(base) }) }
        return changed(await admin.setSource(id, change, tenant.id))
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/sources/revoke',
      access: 'admin',
      body: RevokeSourceBody,
      handle: async ({ tenant, body }) => changed(await admin.revokeSource(body.source_id, tenant.id)),
    }),
  ]
}

/** The list is shown without health then. */
function reasonOf(error: unknown): string {
  if (error instanceof UnavailableError || error instanceof BackpressureError) return error.message
  throw error
}

function toolOf(tools: ReadonlyMap<string, SourceTool>, kind: string): SourceTool {
  const tool = tools.get(kind)
  if (tool?.group === 'pulls') {
    throw new InputError(
      `kind: ./ipid source create makes sources of the kind ${kind}, because it asks for their secrets`,
    )
  }
  if (tool === undefined) {
    throw new InputError(`kind: ${JSON.stringify(kind)} is unknown: there are ${[...tools.keys()].join(', ')}`)
  }
  return tool
}

/** Where the fields of its events are. */
function fieldFacts(
  { presets }: SourceTool,
  preset: string | undefined,
  map: readonly string[] | undefined,
): Pick<SourceFacts, 'preset' | 'map'> {
  if (presets === undefined) {
    const given = preset === undefined ? (map === undefined ? undefined : 'map') : 'preset'
    if (given !== undefined) throw new InputError(`${given}: sources of this kind have none`)
    return {}
  }
  const names = presets.map(({ name }) => name)
  if (preset !== undefined && !names.includes(preset)) {
    throw new InputError(`preset: there is no ${JSON.stringify(preset)}: give one of ${names.join(', ')}`)
  }
  return { ...(preset !== undefined && { preset }), ...(map !== undefined && { map: { ...parseMapping(map, 'map') } }) }
}

/** @throws InputError when it is no origin */
export function baseOf(base: string): string {
  try {
    return httpOrigin(base)
  } catch (error) {
    throw new InputError(`base: ${(error as Error).message}, got ${JSON.stringify(base)}`)
  }
}
