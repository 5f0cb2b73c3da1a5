import { IMPORT_LIMITS, ImportChoice } from '../../../../schemas/api/company-import.ts'
import { RemoveColumnBody } from '../../../../schemas/dashboard/corrections.ts'
import type { CompanyCorrections } from '../../../companies/corrections/corrections.ts'
import type { CompanyImports } from '../../../companies/imports/imports.ts'
import { readList } from '../../../companies/imports/list-file.ts'
import { compileValidator } from '../../../pipeline/event/validator.ts'
import { TenantSlots } from '../../../run/tenant-slots.ts'
import { IMPORTS } from '../../../stores/clickhouse/read-limits.ts'
import { CHOICE_MAX_BYTES, readChoice } from '../choice-line.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { authorOf } from '../sessions.ts'

export interface ImportDependencies {
  readonly corrections: CompanyCorrections
  readonly imports: Pick<CompanyImports, 'import'>
}

const validate = compileValidator(ImportChoice)

/** Lists of companies, and the own columns that they make. */
export function importRoutes({ corrections, imports }: ImportDependencies): DashboardRoute[] {
  const slots = new TenantSlots(IMPORTS)
  return [
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/companies/import',
      streamedMaxBytes: CHOICE_MAX_BYTES + IMPORT_LIMITS.bytes,
      async handle({ exchange, tenant, session }) {
        const { choice, file } = await readChoice(exchange.stream(), validate)
        const { encoding, ...options } = choice
        return await slots.run(tenant.id, async () => {
          const list = await readList('the file', file, encoding)
          return json(await imports.import(tenant.id, list, { ...options, by: authorOf(session) }))
        })
      },
    }),
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/own-columns',
      handle: async ({ tenant }) => json({ columns: await corrections.columns(tenant.id) }),
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/own-columns/remove',
      body: RemoveColumnBody,
      handle: async ({ tenant, session, body: { key } }) =>
        json(await corrections.removeColumn(tenant.id, { key, by: authorOf(session) })),
    }),
  ]
}
