import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'

/*
 * A program of a customer, on types that a generator made from the OpenAPI document. It has no cast: what the document says must be what
 * a program needs.
 */

type Schemas = components['schemas']

const [baseUrl = '', apiKey = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl, headers: { 'x-api-key': apiKey } })

const events: Schemas['Event'][] = [
  { ip: '17.253.144.10', event_id: 'a1', event_type: 'page_view', properties: { path: '/pricing' }, plan: 'pro' },
  { ip: 'no address' },
]

async function ingest(): Promise<number> {
  const { data, error } = await client.POST('/v1/ingest', { body: { events } })
  if (error !== undefined) throw new Error(reasonOf(error))
  const named: string[] = data.results.map(nameOf)
  if (named.length !== data.stats.received) throw new Error('a result is missing')
  return data.stats.invalid_ip
}

function nameOf({ status, enrichment, ip }: Schemas['EventResult']): string {
  switch (status) {
    case 'ok':
    case 'filtered':
      return enrichment.business_name ?? ip
    case 'invalid_ip':
      return ip
  }
}

async function lookUp(): Promise<Schemas['Quota']> {
  const { data, error, response } = await client.GET('/v1/lookup', {
    params: { query: { ip: '17.253.144.10', fields: ['business_name', 'asn'], quality_min: 10 } },
  })
  if (error !== undefined) throw new Error(reasonOf(error))
  const asn: number | undefined = data.data.asn
  if (asn !== undefined && response.headers.get('x-quota-used') === null) throw new Error('no quota')
  return data.quota
}

async function bulk(): Promise<string[]> {
  const { data, error } = await client.POST('/v1/bulk', {
    headers: { accept: 'application/json' },
    body: { ips: ['17.253.144.10', 'nonsense'] },
  })
  if (error !== undefined) throw new Error(reasonOf(error))
  if (data === undefined || typeof data === 'string' || !('results' in data)) throw new Error('not as asked for')
  return data.results.map((result) => (result.status === 'invalid_ip' ? result.ip : (result.data.business_name ?? '')))
}

async function upload(): Promise<Schemas['Job']['status']> {
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('')
  const { data, error } = await client.POST('/v1/ingest/batch', {
    headers: { 'content-type': 'application/x-ndjson' },
    body: lines,
    bodySerializer: (text) => text,
  })
  if (error !== undefined) throw new Error(reasonOf(error))
  for (;;) {
    const found = await client.GET('/v1/ingest/batch/{job_id}', { params: { path: { job_id: data.job_id } } })
    if (found.error !== undefined) throw new Error(reasonOf(found.error))
    const { status, result_summary: summary } = found.data
    if (status === 'completed' && summary !== null && summary.invalid_ip !== 1) throw new Error('a line is missing')
    if (status === 'completed' || status === 'failed') return status
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function companies(): Promise<string[]> {
  const names: string[] = []
  let cursor: string | undefined
  do {
    const { data, error } = await client.GET('/v1/companies', {
      params: { query: { classification: ['business'], days: 30, limit: 1, ...(cursor !== undefined && { cursor }) } },
    })
    if (error !== undefined) throw new Error(reasonOf(error))
    names.push(...data.companies.map(({ business_name }) => business_name))
    cursor = data.next_cursor ?? undefined
  } while (cursor !== undefined)
  return names
}

async function jobs(): Promise<number> {
  const { data, error } = await client.GET('/v1/ingest/batch', { params: { query: { limit: 5 } } })
  if (error !== undefined) throw new Error(reasonOf(error))
  return data.jobs.length
}

async function refused(): Promise<Schemas['Error']['code'] | undefined> {
  const { error } = await client.POST('/v1/ingest', { body: { events: [] } })
  return error?.code
}

function reasonOf({ code, detail, errors = [] }: Schemas['Error']): string {
  return [`${code}: ${detail}`, ...errors.map(({ path, message }) => `${path} ${message}`)].join('; ')
}

const found = {
  invalid: await ingest(),
  used: (await lookUp()).daily_used,
  bulk: await bulk(),
  upload: await upload(),
  jobs: await jobs(),
  companies: await companies(),
  refused: await refused(),
}
process.stdout.write(JSON.stringify(found))
