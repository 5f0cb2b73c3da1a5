import { Type } from 'typebox'
import { ApiCompanyAnswer, COMPANIES_API_LIMITS, CompaniesAnswer } from '../../../../schemas/api/companies.ts'
import { COMPANY_LIMITS, CompanyFilter } from '../../../../schemas/companies.ts'
import { SEGMENT_LIMITS } from '../../../../schemas/segment.ts'
import { apiCompany } from '../../../companies/api-company.ts'
import type { ClickHouseCompanies } from '../../../companies/companies.ts'
import { assertFilter, assertGivenFilter } from '../../../companies/filter.ts'
import { narrowed, SINGLE_VALUED } from '../../../companies/narrow.ts'
import type { Segments } from '../../../companies/segments/segments.ts'
import { formatWhere, parseTerms, parseWhere } from '../../../companies/where.ts'
import { parseTimestamp } from '../../../pipeline/event/timestamp.ts'
import { compileValidator } from '../../../pipeline/event/validator.ts'
import { InputError } from '../../../run/errors.ts'
import type { Caller } from '../../../tenants/tenancy.ts'
import type { Exchange } from '../../engine/exchange.ts'
import { HttpError } from '../../engine/http-error.ts'
import type { HttpResponse } from '../../engine/response.ts'
import type { Operation } from '../../route/operation.ts'
import { pathParameter } from '../../route/path-parameter.ts'
import { decodeQueryPart, parseQuery, single, wholeOf } from '../../route/query.ts'
import type { Route } from '../../route/route.ts'
import { assertSchema, schemaError } from '../../route/schema.ts'

const { rows: ROWS, rowsMax: ROWS_MAX, days: DAYS, daysMax: DAYS_MAX, cursorMaxChars } = COMPANIES_API_LIMITS
/** Parameters that are not terms of a filter. */
const OWN = ['limit', 'cursor', 'updated_since', 'where', 'segment'] as const

/** `GET /v1/companies`: the companies of a tenant in the order of their ids, which no event changes. */
export function companiesRoute(companies: Pick<ClickHouseCompanies, 'part'>, segments: Pick<Segments, 'list'>): Route {
  const validate = compileValidator(CompanyFilter)
  return {
    method: 'GET',
    path: '/v1/companies',
    access: 'key',
    operation: listOperation,
    async handle({ request }: Exchange, { tenant }: Caller): Promise<HttpResponse> {
      const { own, terms } = split(request.query)
      const where = own.get('where')
      const ofWhere = where === undefined ? [] : asFieldError('where', () => termsOf(where))
      // Terms of both have one meaning: they are read together.
      const further = asFieldError('', () => parseTerms([...terms, ...ofWhere]))
      assertSchema(validate, further)
      const part = {
        after: afterOf(own.get('cursor')),
        updatedSinceMs: momentOf(own.get('updated_since')),
        limit: wholeOf('limit', own.get('limit'), ROWS, ROWS_MAX),
      }
      const segment = own.get('segment')
      const base = segment === undefined ? {} : await filterOfSegment(segments, tenant.id, segment)
      const filter = asFieldError('', () => {
        assertGivenFilter(further)
        const both = narrowed(base, further)
        if (both !== undefined) assertFilter(both)
        return both
      })
      const { companies: found, next } =
        filter === undefined ? { companies: [], next: undefined } : await companies.part(tenant.id, filter, part)
      const answer: CompaniesAnswer = {
        companies: found.map(apiCompany),
        next_cursor: next === undefined ? null : Buffer.from(next).toString('base64url'),
      }
      return { status: 200, body: JSON.stringify(answer) }
    },
  }
}

/** `GET /v1/companies/{company_id}`: a company, and its visits on its last days. */
export function companyRoute(companies: Pick<ClickHouseCompanies, 'company' | 'origins'>): Route {
  return {
    method: 'GET',
    path: '/v1/companies/:company_id',
    access: 'key',
    operation: oneOperation,
    async handle({ request }: Exchange, { tenant }: Caller): Promise<HttpResponse> {
      const id = pathParameter(request, 'company_id')
      if (id.length > COMPANY_LIMITS.valueMaxChars) {
        throw schemaError([
          { path: 'company_id', message: `must be at most ${COMPANY_LIMITS.valueMaxChars} characters` },
        ])
      }
      const days = wholeOf('days', single(parseQuery(request.query), 'days'), DAYS, DAYS_MAX)
      const stored = await companies.company(tenant.id, id, days)
      if (stored === undefined) throw new HttpError('unknown_company', 'there is no such company')
      const { company, from, to, days: byDay, accounts, event_types, platforms } = stored
      const { pages, referrers, campaigns, sources } = await companies.origins(tenant.id, stored)
      const answer: ApiCompanyAnswer = {
        ...{ company: apiCompany(company), from, to, days: byDay },
        ...{ pages: [...pages], referrers: [...referrers], campaigns: [...campaigns], sources: [...sources] },
        ...{ accounts, event_types, platforms },
      }
      return { status: 200, body: JSON.stringify(answer) }
    },
  }
}

/** The route's own parameters, and the terms of the filter. @throws HttpError 400, or 422 for a parameter given twice */
function split(query: string): { readonly own: ReadonlyMap<string, string>; readonly terms: readonly string[] } {
  const own = new Map<string, string>()
  const terms: string[] = []
  for (const part of query.split('&')) {
    const term = decodeQueryPart(part)
    const name = OWN.find((name) => term.startsWith(`${name}=`))
    if (name === undefined) {
      if (term !== '') terms.push(term)
      continue
    }
    if (own.has(name)) throw schemaError([{ path: name, message: 'must be given once' }])
    own.set(name, term.slice(name.length + 1))
  }
  return { own, terms }
}

/** @throws HttpError 422 when the tenant has no such segment */
async function filterOfSegment(segments: Pick<Segments, 'list'>, tenantId: string, name: string) {
  const found = (await segments.list(tenantId)).find((segment) => segment.name === name)
  if (found === undefined) throw schemaError([{ path: 'segment', message: 'must be the name of a saved segment' }])
  return parseWhere(found.where)
}

/** @param path the wrong parameter; '': the message names it */
function asFieldError<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    throw new HttpError('invalid_request', error.message, {
      errors: [{ path: error.field ?? path, message: error.message }],
    })
  }
}

/** Reads the text alone first, so that its errors name it, and returns its terms. */
function termsOf(where: string): string[] {
  const filter = parseWhere(where)
  return Object.entries(filter).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((item) =>
      formatWhere({ [name]: Array.isArray(value) ? [item] : item }),
    ),
  )
}

function momentOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const ms = parseTimestamp(text)
  if (Number.isNaN(ms))
    throw schemaError([
      { path: 'updated_since', message: 'must be an RFC 3339 date-time, such as 2026-11-21T10:20:30Z' },
    ])
  return ms
}

/** The id in a cursor. */
function afterOf(cursor: string | undefined): string {
  if (cursor === undefined) return ''
  const id = Buffer.from(cursor, 'base64url').toString()
  const isOurs = cursor.length <= cursorMaxChars && Buffer.from(id).toString('base64url') === cursor && id !== ''
  if (!isOurs) throw schemaError([{ path: 'cursor', message: 'must be a next_cursor of an answer' }])
  return id
}

const example = {
  company_id: 'apple.com',
  business_name: 'Apple',
  name: 'Apple',
  domain: 'apple.com',
  industry: 'Consumer Electronics',
  industry_category: 'Technology',
  country_code: 'US',
  classification: 'business',
  events: 42,
  first_seen: '2026-11-01T08:00:00.000Z',
  last_seen: '2026-11-22T09:30:00.000Z',
  quality: 90,
  ...{ tags: ['key account'], owner: 'Ada', status: 'customer', own: { revenue: '1000000' } },
  visits: 7,
  unique_ips: 3,
  heat: 61,
  fit: 'good',
  fit_reasons: ['Consumer Electronics'],
  hidden: false,
  first_channel: 'paid search',
  first_campaign: 'spring',
  last_channel: 'email',
  last_campaign: 'newsletter',
}

const TERMS = Object.entries(CompanyFilter.properties).map(([name, schema]) => ({
  name,
  in: 'query' as const,
  required: false,
  description: (schema as { description?: string }).description ?? '',
  schema,
}))

const listOperation: Operation = {
  id: 'companies',
  summary: 'The companies of a tenant',
  takesTerms: true,
  description:
    'An extension. All filters must hold, and a repeated one means any of its values. Besides `visits_min=3` the query may say ' +
    '`visits>=3`, `country!=US` and `page~/pricing`, which is `page_contains=/pricing`. Companies come in the order of their ids, which no event changes: with the same ' +
    'filters and `next_cursor` as `cursor`, no company that is there all the time is left out or comes twice. A tenant may ask two ' +
    'questions at a time; eight wait for at most 5 s, and more are answered 429.',
  parameters: [
    {
      name: 'where',
      in: 'query',
      required: false,
      description:
        'Filters as one text: `industry=Software,country=DE,visits>=3,days=30,page~/pricing`, or with an expression: ' +
        '`days=30,(country=DE or heat>=50) and not tag=customer`',
      schema: Type.String({ maxLength: COMPANY_LIMITS.whereMaxChars }),
    },
    {
      name: 'segment',
      in: 'query',
      required: false,
      description:
        'Name of a saved segment: only its companies. Further filters narrow it, and an answer is empty when no company can be in both. ' +
        '`days`, `from` and `to` set the days of the whole filter, so a segment with days of its own refuses them. Both can have other ' +
        `values of ${SINGLE_VALUED.map((name) => `\`${name}\``).join(', ')}, numbers, \`new_since\`, \`new_days\`, \`condition\`, ` +
        '`own` and `…_not`, and of nothing else. `own` of both may not be values of one column',
      schema: Type.String({ minLength: 1, maxLength: SEGMENT_LIMITS.nameMaxChars }),
    },
    {
      name: 'updated_since',
      in: 'query',
      required: false,
      description:
        'Only companies with an event that was received at or after this time, or that people corrected since: a company that was ' +
        'renamed, tagged, hidden or shown again, the target of a merge, and both companies of a merge that was taken back. Hidden ' +
        'companies come with `hidden=with`; a merged one has no row any more. Events are stored some seconds after their receipt: ask ' +
        'again from a few minutes before the last question. A change of the signs of `fit` changes no company here: read all of them ' +
        'again after it',
      schema: Type.String({ format: 'rfc3339' }),
    },
    {
      name: 'limit',
      in: 'query',
      required: false,
      description: 'Companies of a page',
      schema: Type.Integer({ minimum: 1, maximum: ROWS_MAX, default: ROWS }),
    },
    {
      name: 'cursor',
      in: 'query',
      required: false,
      description: '`next_cursor` of the page before',
      schema: Type.String({ maxLength: cursorMaxChars }),
    },
    ...TERMS,
  ],
  responses: {
    200: {
      description: 'A page of companies',
      schema: CompaniesAnswer,
      example: { companies: [example], next_cursor: null },
    },
  },
  errors: [422],
}

const oneOperation: Operation = {
  id: 'company',
  summary: 'A company and its visits',
  description:
    'An extension. Counts of the company are of all time; all other lists are of the last days on which it was seen.',
  parameters: [
    {
      name: 'company_id',
      in: 'path',
      required: true,
      description: 'The id of the company, percent-encoded',
      schema: Type.String({ minLength: 1, maxLength: COMPANY_LIMITS.valueMaxChars }),
    },
    {
      name: 'days',
      in: 'query',
      required: false,
      description: 'UTC days up to today, or up to its last event when it is longer ago',
      schema: Type.Integer({ minimum: 1, maximum: DAYS_MAX, default: DAYS }),
    },
  ],
  responses: {
    200: {
      description: 'The company',
      schema: ApiCompanyAnswer,
      example: {
        company: example,
        from: '2026-10-24',
        to: '2026-11-22',
        days: [{ day: '2026-11-22', events: 42, visits: 7 }],
        pages: [{ value: 'https://shop.example/pricing', events: 12 }],
        referrers: [{ value: 'https://www.example.org/', events: 3 }],
        campaigns: [{ value: 'spring', events: 3 }],
        sources: [{ value: 'src_0a1b2c3d', events: 42 }],
        accounts: [{ value: 'apple.com', events: 42 }],
        event_types: [{ value: 'page_view', events: 42 }],
        platforms: [{ value: 'web', events: 42 }],
      },
    },
  },
  errors: [404, 422],
}
