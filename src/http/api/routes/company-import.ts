import { Type } from 'typebox'
import { IMPORT_LIMITS, ImportAnswer, ImportChoice } from '../../../../schemas/api/company-import.ts'
import type { CompanyImports } from '../../../companies/imports/imports.ts'
import { readList } from '../../../companies/imports/list-file.ts'
import { compileValidator } from '../../../pipeline/event/validator.ts'
import { TenantSlots } from '../../../run/tenant-slots.ts'
import { IMPORTS } from '../../../stores/clickhouse/read-limits.ts'
import type { Caller } from '../../../tenants/tenancy.ts'
import type { Exchange } from '../../engine/exchange.ts'
import type { HttpResponse } from '../../engine/response.ts'
import type { Operation } from '../../route/operation.ts'
import { assertParameters, parseQuery, single } from '../../route/query.ts'
import type { Route } from '../../route/route.ts'
import { assertSchema, schemaError } from '../../route/schema.ts'

const FLAGS: Readonly<Record<string, boolean>> = { true: true, false: false }

/** `POST /v1/companies`: facts about companies from a CSV file. */
export function companyImportRoute(imports: Pick<CompanyImports, 'import'>): Route {
  const validate = compileValidator(ImportChoice)
  const slots = new TenantSlots(IMPORTS)
  return {
    method: 'POST',
    path: '/v1/companies',
    access: 'key',
    operation,
    bodyMaxBytes: IMPORT_LIMITS.bytes,
    streamsBody: true,
    async handle(exchange: Exchange, { tenant, keyPrefix = 'API' }: Caller): Promise<HttpResponse> {
      const choice: unknown = choiceOf(exchange.request.query)
      assertSchema(validate, choice)
      const { encoding, ...options } = choice
      const answer = await slots.run(tenant.id, async () => {
        const list = await readList('the body', exchange.stream(), encoding)
        return await imports.import(tenant.id, list, { ...options, by: `API key ${keyPrefix}` })
      })
      return { status: 200, body: JSON.stringify(answer satisfies ImportAnswer) }
    },
  }
}

/** @throws HttpError 422 for a parameter that is given twice */
function choiceOf(text: string): object {
  const query = parseQuery(text)
  assertParameters(operation, query)
  const one = (name: string) => {
    const value = single(query, name)
    return value === undefined ? {} : { [name]: value }
  }
  const flag = (name: string) => {
    const value = single(query, name)
    if (value === undefined) return {}
    if (!Object.hasOwn(FLAGS, value)) throw schemaError([{ path: name, message: 'must be true or false' }])
    return { [name]: FLAGS[value] }
  }
  const pairs = (query.get('map') ?? []).map((pair) => {
    const at = pair.lastIndexOf('=')
    if (at < 1) throw schemaError([{ path: 'map', message: 'must be COLUMN=TARGET; COLUMN= leaves it out' }])
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const
  })
  return {
    ...(pairs.length > 0 && { map: Object.fromEntries(pairs) }),
    ...{ ...flag('dry_run'), ...flag('clear_empty'), ...one('date_order'), ...one('encoding'), ...one('change_id') },
  }
}

const parameter = (name: string, description: string, schema = Type.String()) => ({
  ...{ name, in: 'query' as const, required: false, description, schema },
})

const operation: Operation = {
  id: 'importCompanies',
  summary: 'Imports a list of companies',
  description:
    'An extension. The body is a CSV file with a header; gzip is decoded. Each row names a company by domain, or by name, and says what you ' +
    'know of it: owner, status, tags, and columns of your own. Columns are recognised by their names; other columns with values become own ' +
    `columns, at most 20. A row with a domain that has not visited yet is kept for its first visit. The list is one change, whole or not at all, ` +
    'which `./ipid company undo` and the dashboard undo. The same list again changes nothing. Tags are added. An empty cell leaves what is there.',
  parameters: [
    {
      ...parameter(
        'map',
        '`COLUMN=TARGET`, repeated: `domain`, `name`, `owner`, `status`, `tags`, or `text`, `number`, `date` for a column of your own, or ' +
          '`own.KEY` for one that exists. `COLUMN=` leaves it out',
      ),
      schema: Type.Array(Type.String()),
    },
    { ...parameter('dry_run', 'Only answers what would happen'), schema: Type.Boolean({ default: false }) },
    {
      ...parameter('clear_empty', 'Whether an empty cell removes what is there'),
      schema: Type.Boolean({ default: false }),
    },
    {
      ...parameter('date_order', 'How to read 01/02/2026, which is refused without it'),
      schema: Type.Enum(['dmy', 'mdy']),
    },
    {
      ...parameter('encoding', 'Such as windows-1251. Default: UTF-8 or UTF-16, or windows-1252 when it is neither'),
      schema: ImportChoice.properties.encoding,
    },
    {
      ...parameter('change_id', 'A UUID in lower case: a repeat with the same one changes nothing'),
      schema: ImportChoice.properties.change_id,
    },
  ],
  body: {
    type: 'text/csv',
    schema: Type.String({ description: `At most ${IMPORT_LIMITS.rows} rows and 10 MiB` }),
    example: 'domain,status,owner,tags,employees\nacme.example,customer,Ada,"key account, EU",250\n',
  },
  responses: {
    200: {
      description: 'What the list changed, or would change',
      schema: ImportAnswer,
      example: {
        ...{
          applied: true,
          change_id: '0d9f5a52-6e0b-4d07-9a3e-1b1f4f6f9c11',
          rows: 1,
          matched: 1,
          waiting: 0,
          unused: 0,
        },
        ...{ changed: 1, values: 1, cleared: 0 },
        columns: [
          { name: 'domain', target: 'domain', example: 'acme.example', key: '', is_new: false },
          { name: 'status', target: 'status', example: 'customer', key: '', is_new: false },
        ],
        changed_rows: [
          {
            ...{ line: 2, key: 'acme.example', company_id: 'acme.example', reason: '' },
            ...{ business_name: 'Acme', name: 'Acme' },
            changes: [{ field: 'status', before: 'open deal', value: 'customer' }],
          },
        ],
        ...{ waiting_rows: [], unused_rows: [], problems: [], problem_count: 0, problem: null },
      },
    },
  },
  errors: [422],
}
