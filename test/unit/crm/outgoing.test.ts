import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CRM_LIMITS } from '../../../schemas/crm.ts'
import { OutgoingCompanies } from '../../../src/crm/outgoing.ts'

const { signal } = new AbortController()

interface Row {
  readonly company_id: string
  readonly domain?: string
}

/** The companies of a tenant in memory, and the reads of them in order. Segments are those of the ids that they have. */
function outgoing(rows: readonly Row[], segments: Readonly<Record<string, readonly string[]>> = {}) {
  const reads: string[] = []
  const named = Object.keys(segments)
  const companies = {
    async *rows() {
      reads.push('rows')
      const more = { name: 'Name', last_seen: '2026-11-24 10:00:00.000', visits: 1, heat: 1 }
      yield rows.map((row) => ({ domain: row.company_id, ...row, ...more }))
    },
    async *ids(_tenantId: string, { country }: { readonly country?: readonly string[] }) {
      const name = named[Number(country![0]!.charCodeAt(1)) - 65]!
      reads.push(name)
      yield segments[name]!
    },
    pagesOf: async () => new Map(),
  }
  // A filter that says which segment it is of: country=DA, DB, …
  const list = async () =>
    named.map((name, i) => ({ id: name, name, where: `country=D${String.fromCharCode(65 + i)}`, created_at: '' }))
  const given = companies as unknown as ConstructorParameters<typeof OutgoingCompanies>[0]
  return { reads, of: (segment?: string) => new OutgoingCompanies(given, { list }).of('acme', segment, signal) }
}

test('names of segments are read last, for the chosen companies only', async () => {
  const { reads, of } = outgoing([{ company_id: 'a.example' }, { company_id: 'b.example' }], {
    German: ['a.example', 'b.example', 'c.example'],
    Keen: ['b.example'],
  })
  const { companies } = await of('Keen')
  assert.deepEqual(
    companies.map(({ company_id, segments, last_visit }) => [company_id, segments, last_visit]),
    [['b.example', ['German', 'Keen'], '2026-11-24T10:00:00.000Z']],
  )
  assert.deepEqual(reads, ['Keen', 'rows', 'German', 'Keen'])
})

test('companies without a domain of their own are counted, and the first of them are kept', async () => {
  const many = 200_000
  const { of } = outgoing([
    { company_id: 'a.example' },
    ...Array.from({ length: many }, (_, i) => ({ company_id: `odd${i}`, domain: 'localhost' })),
  ])
  const { companies, unfit } = await of()
  assert.equal(companies.length, 1)
  assert.deepEqual([unfit.count, unfit.first.length, unfit.first[0]!.company_id], [many, CRM_LIMITS.refused, 'odd0'])
})
