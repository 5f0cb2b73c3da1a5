import type { CrmRefusal } from '../../../schemas/crm.ts'
import type { BroughtFact } from '../../companies/corrections/corrections.ts'
import { type Crm, CrmStoppedError, type OutgoingCompany, type SyncedCompanies } from '../crm.ts'
import { changedValues, GROUP, KEY, PROPERTIES, type PropertyValues, statusOfStage, valuesOf } from './properties.ts'
import { HubSpotWire, messageOf, type WireError, type WireOptions, WireRefusedError } from './wire.ts'

const COMPANIES = '/crm/v3/objects/companies'
const OWN_PROPERTIES = '/crm/v3/properties/companies'
/** Inputs of a batch that reads the history of properties. Other batches may have 100. */
const HISTORY_MAX = 50
const SEARCH_BODY_CHARS = 3_000
const SEARCH_ROWS = 200
const OWNERS = 500
/** Pages of owners, or of a search, that are followed. */
const PAGES_MAX = 100
/** Set by people in HubSpot. */
const OWNER = 'hubspot_owner_id'
const STAGE = 'lifecyclestage'

/** A company of HubSpot. */
interface HubSpotCompany {
  readonly id: string
  readonly createdAt?: string
  readonly properties: Readonly<Record<string, string | null | undefined>>
  readonly propertiesWithHistory?: Readonly<
    Record<string, readonly { readonly value: string | null; readonly timestamp: string }[] | undefined>
  >
  readonly objectWriteTraceId?: string
}

interface Batch {
  readonly results?: readonly HubSpotCompany[]
  readonly errors?: readonly WireError[]
}

interface Owner {
  readonly id: string
  readonly email?: string
}

interface Paged<T> {
  readonly results?: readonly T[]
  readonly paging?: { readonly next?: { readonly after?: string } }
}

/** A company to write, in the form of a batch. Its id is its trace id too. */
interface Input {
  readonly company: OutgoingCompany
  readonly id: string
  readonly idProperty?: string
  readonly properties: PropertyValues
}

/**
 * Companies of a HubSpot account. A company is found by its key, the unique property `ipid_company_id`, else by its domain, and created
 * under its key. So a company that a killed process created, or still creates, is the same company: HubSpot's search shows it only after
 * a while, its key at once.
 */
export class HubSpot implements Crm {
  readonly companiesMax = HISTORY_MAX
  readonly #wire: HubSpotWire
  /** E-mail addresses by id of owner. */
  #owners: ReadonlyMap<string, string> = new Map()

  constructor(options: WireOptions) {
    this.#wire = new HubSpotWire(options)
  }

  async begin(signal: AbortSignal): Promise<void> {
    this.#owners = await this.#readOwners(signal)
    await this.#ensureProperties(signal)
  }

  async sync(
    companies: readonly OutgoingCompany[],
    isSent: (companyId: string) => boolean,
    signal: AbortSignal,
  ): Promise<SyncedCompanies> {
    const refused: CrmRefusal[] = []
    const known = new Map<string, HubSpotCompany>()
    for (const found of await this.#read(companies, false, signal)) known.set(found.properties[KEY] ?? '', found)
    const updates: Input[] = []
    let unchanged = 0
    for (const company of companies) {
      const record = known.get(company.company_id)
      if (record === undefined) continue
      const properties = changedValues(valuesOf(company), record.properties)
      if (Object.keys(properties).length > 0) updates.push({ company, id: record.id, properties })
      else unchanged++
    }
    const { adopted, creates } = await this.#place(
      companies.filter(({ company_id }) => !known.has(company_id)),
      { isSent, refused },
      signal,
    )
    const updated = await this.#write('update', [...updates, ...adopted], refused, signal)
    const created = await this.#write('upsert', creates, refused, signal)
    return { created, updated, unchanged, refused, brought: this.#broughtFrom(known) }
  }

  /** Finds companies without a key: HubSpot has their domain, or has archived them, or does not have them. */
  async #place(
    missing: readonly OutgoingCompany[],
    { isSent, refused }: { readonly isSent: (companyId: string) => boolean; readonly refused: CrmRefusal[] },
    signal: AbortSignal,
  ): Promise<{ readonly adopted: readonly Input[]; readonly creates: readonly Input[] }> {
    if (missing.length === 0) return { adopted: [], creates: [] }
    const adopted: Input[] = []
    const absent: OutgoingCompany[] = []
    const byDomain = await this.#search(missing, signal)
    for (const company of missing) {
      const records = byDomain.get(company.domain) ?? []
      const free = records.find(({ properties: { [KEY]: key } }) => !key || !isSent(key))
      if (free !== undefined) {
        const properties = { ...changedValues(valuesOf(company), free.properties), [KEY]: company.company_id }
        adopted.push({ company, id: free.id, properties })
      } else if (records.length === 0) absent.push(company)
      else {
        const other = records[0]!.properties[KEY]
        refused.push(refusal(company, `HubSpot has ${company.domain} as ${other}: merge the two companies in ipid`))
      }
    }
    const archived = absent.length === 0 ? [] : await this.#read(absent, true, signal)
    const isArchived = new Set(archived.map(({ properties }) => properties[KEY]))
    const creates: Input[] = []
    for (const company of absent) {
      if (isArchived.has(company.company_id))
        refused.push(refusal(company, 'it was deleted in HubSpot: restore it there, or hide it here'))
      else creates.push({ company, id: company.company_id, idProperty: KEY, properties: newProperties(company) })
    }
    return { adopted, creates }
  }

  /** The companies that have these keys. Those that are missing are not an error. */
  async #read(
    companies: readonly OutgoingCompany[],
    archived: boolean,
    signal: AbortSignal,
  ): Promise<readonly HubSpotCompany[]> {
    const body = {
      idProperty: KEY,
      inputs: companies.map(({ company_id: id }) => ({ id })),
      properties: PROPERTIES.map(({ name }) => name),
      propertiesWithHistory: archived ? [] : [OWNER, STAGE],
    }
    const { results = [], errors = [] } = await this.#wire.call<Batch>(
      `${COMPANIES}/batch/read?archived=${archived}`,
      body,
      signal,
    )
    const other = errors.find(({ category }) => category !== 'OBJECT_NOT_FOUND')
    if (other !== undefined) throw new Error(`HubSpot cannot read companies: ${messageOf(other)}`)
    return results
  }

  /** Companies of HubSpot by domain, the oldest first. */
  async #search(companies: readonly OutgoingCompany[], signal: AbortSignal) {
    const found = new Map<string, HubSpotCompany[]>()
    for (const domains of inBodies(companies.map(({ domain }) => domain))) {
      const asked = (after: string) =>
        this.#wire.call<Paged<HubSpotCompany>>(`${COMPANIES}/search`, searchBody(domains, after || '0'), signal)
      for await (const record of followed(asked)) {
        const domain = (record.properties.domain ?? '').toLowerCase()
        found.set(domain, [...(found.get(domain) ?? []), record])
      }
    }
    const age = ({ createdAt = '' }: HubSpotCompany) => Date.parse(createdAt) || 0
    for (const records of found.values()) records.sort((a, b) => age(a) - age(b) || Number(a.id) - Number(b.id))
    return found
  }

  /**
   * Writes companies. A batch that HubSpot refuses as a whole is halved until the faulty companies are alone; all writes are safe to repeat.
   * @returns how many it wrote
   */
  async #write(
    how: 'update' | 'upsert',
    inputs: readonly Input[],
    refused: CrmRefusal[],
    signal: AbortSignal,
  ): Promise<number> {
    if (inputs.length === 0) return 0
    let batch: Batch
    try {
      const body = {
        inputs: inputs.map(({ company, ...input }) => ({ ...input, objectWriteTraceId: company.company_id })),
      }
      batch = await this.#wire.call<Batch>(`${COMPANIES}/batch/${how}`, body, signal)
    } catch (error) {
      if (!(error instanceof WireRefusedError)) throw error
      if (inputs.length === 1) {
        refused.push(refusal(inputs[0]!.company, error.message))
        return 0
      }
      const half = Math.ceil(inputs.length / 2)
      const first = await this.#write(how, inputs.slice(0, half), refused, signal)
      return first + (await this.#write(how, inputs.slice(half), refused, signal))
    }
    const { results = [], errors = [] } = batch
    const done = new Set(
      results.flatMap(({ id, objectWriteTraceId: trace, properties }) => [id, trace, properties?.[KEY]]),
    )
    let written = 0
    for (const input of inputs) {
      const { company, id } = input
      const fault = errors.find((error) => idsOf(error).some((named) => named === id || named === company.company_id))
      if (fault !== undefined) refused.push(refusal(company, messageOf(fault) || 'HubSpot gives no reason'))
      else if (errors.length === 0 || done.has(id) || done.has(company.company_id)) written++
      // An error that names no company: only one alone shows whose it is.
      else if (inputs.length > 1) written += await this.#write(how, [input], refused, signal)
      else refused.push(refusal(company, messageOf(errors[0]!) || 'HubSpot gives no reason'))
    }
    return written
  }

  #broughtFrom(known: ReadonlyMap<string, HubSpotCompany>): BroughtFact[] {
    const found: BroughtFact[] = []
    for (const [company_id, record] of known) {
      const owner = lastValue(record, OWNER)
      const email = owner && (owner.value === '' ? '' : this.#owners.get(owner.value))
      // The address of a deactivated owner is not known.
      if (email !== undefined && owner !== undefined)
        found.push({ company_id, field: 'owner', value: email, atMs: owner.atMs })
      const stage = lastValue(record, STAGE)
      if (stage !== undefined)
        found.push({ company_id, field: 'status', value: statusOfStage(stage.value), atMs: stage.atMs })
    }
    return found
  }

  async #readOwners(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    const asked = (after: string) => {
      const query = new URLSearchParams({ limit: String(OWNERS), archived: 'false', ...(after !== '' && { after }) })
      return this.#wire.call<Paged<Owner>>(`/crm/v3/owners?${query}`, undefined, signal)
    }
    for await (const { id, email } of followed(asked)) if (email) found.set(id, email)
    return found
  }

  /** Creates the group and the properties that are missing. People may change their labels. */
  async #ensureProperties(signal: AbortSignal): Promise<void> {
    const missing = async () => {
      const { results = [] } = await this.#wire.call<{
        readonly results?: readonly { readonly name: string; readonly hasUniqueValue?: boolean }[]
      }>(`${OWN_PROPERTIES}?archived=false`, undefined, signal)
      const held = new Map(results.map((property) => [property.name, property]))
      if (held.has(KEY) && held.get(KEY)!.hasUniqueValue !== true)
        throw new CrmStoppedError(`the property ${KEY} in HubSpot does not require unique values: delete it, then sync`)
      return PROPERTIES.filter(({ name }) => !held.has(name))
    }
    const inputs = await missing()
    if (inputs.length === 0) return
    const groups = `${OWN_PROPERTIES}/groups`
    const { results = [] } = await this.#wire.call<{ readonly results?: readonly { readonly name: string }[] }>(
      groups,
      undefined,
      signal,
    )
    let fault: string | undefined
    try {
      if (!results.some(({ name }) => name === GROUP.name)) await this.#wire.call(groups, GROUP, signal)
      const { errors = [] } = await this.#wire.call<Batch>(
        `${OWN_PROPERTIES}/batch/create`,
        { inputs: inputs.map((property) => ({ ...property, groupName: GROUP.name })) },
        signal,
      )
      fault = errors[0] && messageOf(errors[0])
    } catch (error) {
      if (!(error instanceof WireRefusedError)) throw error
      fault = error.message
    }
    // Another process may have created them at the same time.
    if (fault !== undefined && (await missing()).length > 0)
      throw new CrmStoppedError(`HubSpot does not create the properties of the group ipid: ${fault}`)
  }
}

/** The results of all pages. @param asked asks for the page after a cursor; `''`: the first one */
async function* followed<T>(asked: (after: string) => Promise<Paged<T>>): AsyncGenerator<T> {
  let after: string | undefined = ''
  for (let page = 0; after !== undefined; page++) {
    if (page === PAGES_MAX) throw new Error(`HubSpot has more than ${PAGES_MAX} pages of a list`)
    const { results = [], paging }: Paged<T> = await asked(after)
    yield* results
    after = paging?.next?.after
  }
}

function newProperties(company: OutgoingCompany): PropertyValues {
  const { name, domain } = company
  const values = Object.entries(valuesOf(company)).filter(([, value]) => value !== '')
  return { name, domain, ...Object.fromEntries(values) }
}

function refusal({ company_id, name, domain }: OutgoingCompany, reason: string): CrmRefusal {
  return { company_id, name, domain, reason }
}

function idsOf({ id, context }: WireError): string[] {
  return [...(id === undefined ? [] : [id]), ...(context?.ids ?? []), ...(context?.objectWriteTraceId ?? [])]
}

/** The value that a property has, and since when; undefined: HubSpot gives no history. */
function lastValue({ propertiesWithHistory }: HubSpotCompany, name: string) {
  const versions = (propertiesWithHistory?.[name] ?? []).map(({ value, timestamp }) => ({
    value: value ?? '',
    atMs: Date.parse(timestamp),
  }))
  const times = versions.map(({ atMs }) => atMs)
  return versions.find(({ atMs }) => atMs === Math.max(...times))
}

function searchBody(domains: readonly string[], after: string) {
  return {
    filterGroups: [{ filters: [{ propertyName: 'domain', operator: 'IN', values: domains }] }],
    properties: ['domain', ...PROPERTIES.map(({ name }) => name)],
    sorts: [],
    limit: SEARCH_ROWS,
    after,
  }
}

/** Domains in parts whose search is within the length that HubSpot allows. */
function inBodies(domains: readonly string[]): string[][] {
  const room = SEARCH_BODY_CHARS - JSON.stringify(searchBody([], '000000')).length
  const parts: string[][] = []
  let chars = 0
  for (const domain of domains) {
    const size = domain.length + 3
    if (parts.length === 0 || chars + size > room) {
      parts.push([])
      chars = 0
    }
    parts.at(-1)!.push(domain)
    chars += size
  }
  return parts
}
