import type { CrmRefusal } from '../../../schemas/crm.ts'
import type { BroughtFact } from '../../companies/corrections/corrections.ts'
import { type Crm, CrmStoppedError, type OutgoingCompany, type SyncedCompanies } from '../crm.ts'
import { HalvedCalls } from './halved-calls.ts'
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
/** Domains of a record after a merge, or that people added: `a.example;b.example`. */
const FURTHER_DOMAINS = 'hs_additional_domains'
const NO_REASON = 'HubSpot gives no reason'

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
  readonly #reads = new HalvedCalls()
  readonly #searches = new HalvedCalls()
  readonly #writes = new HalvedCalls()
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
    const refusals = new Refusals()
    const known = new Map<string, HubSpotCompany>()
    for (const found of await this.#read(companies, false, refusals, signal))
      known.set(found.properties[KEY] ?? '', found)
    const updates: Input[] = []
    let unchanged = 0
    for (const company of companies) {
      const record = known.get(company.company_id)
      if (record === undefined) continue
      const properties = changedValues(valuesOf(company), record.properties)
      if (Object.keys(properties).length > 0) updates.push({ company, id: record.id, properties })
      else unchanged++
    }
    const missing = refusals.without(companies).filter(({ company_id }) => !known.has(company_id))
    const { adopted, creates } = await this.#place(missing, { isSent, refusals }, signal)
    const updated = await this.#write('update', [...updates, ...adopted], refusals, signal)
    const created = await this.#write('upsert', creates, refusals, signal)
    return { created, updated, unchanged, refused: refusals.all, brought: this.#broughtFrom(known) }
  }

  /** Finds companies without a key: HubSpot has their domain, or has archived them, or does not have them. */
  async #place(
    missing: readonly OutgoingCompany[],
    { isSent, refusals }: { readonly isSent: (companyId: string) => boolean; readonly refusals: Refusals },
    signal: AbortSignal,
  ): Promise<{ readonly adopted: readonly Input[]; readonly creates: readonly Input[] }> {
    if (missing.length === 0) return { adopted: [], creates: [] }
    const adopted: Input[] = []
    const absent: OutgoingCompany[] = []
    const byDomain = await this.#search(missing, refusals, signal)
    const recordsOf = ({ domain }: OutgoingCompany) => byDomain.get(domain) ?? []
    const isMain = (company: OutgoingCompany) =>
      recordsOf(company)[0] !== undefined && mainDomainOf(recordsOf(company)[0]!) === company.domain
    // A record goes to the company of its main domain before one of a further domain.
    const ordered = refusals.without(missing).sort((a, b) => Number(isMain(b)) - Number(isMain(a)))
    /** Companies by the record that they take over here. */
    const takers = new Map<string, string>()
    for (const company of ordered) {
      const records = recordsOf(company)
      const free = records.find(({ id, properties: { [KEY]: key } }) => !takers.has(id) && (!key || !isSent(key)))
      if (free !== undefined) {
        takers.set(free.id, company.company_id)
        const properties = { ...changedValues(valuesOf(company), free.properties), [KEY]: company.company_id }
        adopted.push({ company, id: free.id, properties })
      } else if (records.length === 0) absent.push(company)
      else {
        const other = takers.get(records[0]!.id) ?? records[0]!.properties[KEY]
        refusals.add(company, `HubSpot has ${company.domain} as ${other}: merge the two companies in ipid`)
      }
    }
    const archived = await this.#read(absent, true, refusals, signal)
    const isArchived = new Set(archived.map(({ properties }) => properties[KEY]))
    const creates: Input[] = []
    for (const company of refusals.without(absent)) {
      if (isArchived.has(company.company_id))
        refusals.add(company, 'it was deleted in HubSpot: restore it there, or hide it here')
      else creates.push({ company, id: company.company_id, idProperty: KEY, properties: newProperties(company) })
    }
    return { adopted, creates }
  }

  /** The companies that have these keys. Those that are missing are not an error. */
  async #read(
    companies: readonly OutgoingCompany[],
    archived: boolean,
    refusals: Refusals,
    signal: AbortSignal,
  ): Promise<readonly HubSpotCompany[]> {
    const ask = async (part: readonly OutgoingCompany[]) => {
      const body = {
        idProperty: KEY,
        inputs: part.map(({ company_id: id }) => ({ id })),
        properties: PROPERTIES.map(({ name }) => name),
        propertiesWithHistory: archived ? [] : [OWNER, STAGE],
      }
      const path = `${COMPANIES}/batch/read?archived=${archived}`
      const { results = [], errors = [] } = await this.#wire.call<Batch>(path, body, signal)
      const other = errors.find(({ category }) => category !== 'OBJECT_NOT_FOUND')
      // A company that could not be read may exist: it must not be created.
      if (other !== undefined) throw new WireRefusedError(`HubSpot cannot read it: ${messageOf(other)}`)
      return results
    }
    const found = await this.#reads.answers(companies, ask, refusals.add)
    return found.flatMap(({ answer }) => answer)
  }

  /** Companies of HubSpot by domain: those of the main domain first, then the oldest. */
  async #search(companies: readonly OutgoingCompany[], refusals: Refusals, signal: AbortSignal) {
    const found = new Map<string, HubSpotCompany[]>()
    const ask = async (part: readonly OutgoingCompany[]) => {
      const domains = part.map(({ domain }) => domain)
      const asked = (after: string) =>
        this.#wire.call<Paged<HubSpotCompany>>(`${COMPANIES}/search`, searchBody(domains, after || '0'), signal)
      const records: HubSpotCompany[] = []
      for await (const record of followed(asked)) records.push(record)
      return records
    }
    for (const part of inBodies(companies)) {
      for (const { answer } of await this.#searches.answers(part, ask, refusals.add)) {
        for (const record of answer)
          for (const domain of domainsOf(record)) found.set(domain, [...(found.get(domain) ?? []), record])
      }
    }
    const age = ({ createdAt = '' }: HubSpotCompany) => Date.parse(createdAt) || 0
    for (const [domain, records] of found) {
      const isMain = (record: HubSpotCompany) => Number(mainDomainOf(record) === domain)
      records.sort((a, b) => isMain(b) - isMain(a) || age(a) - age(b) || Number(a.id) - Number(b.id))
    }
    return found
  }

  /** @returns how many companies it wrote */
  async #write(
    how: 'update' | 'upsert',
    inputs: readonly Input[],
    refusals: Refusals,
    signal: AbortSignal,
  ): Promise<number> {
    const ask = async (part: readonly Input[]) => {
      const body = {
        inputs: part.map(({ company, ...input }) => ({ ...input, objectWriteTraceId: company.company_id })),
      }
      const batch = await this.#wire.call<Batch>(`${COMPANIES}/batch/${how}`, body, signal)
      // An error that names no company: only one alone shows whose it is.
      if (part.some((input) => faultOf(input, batch) === undefined))
        throw new WireRefusedError(messageOf(batch.errors![0]!) || NO_REASON)
      return batch
    }
    let written = 0
    for (const { part, answer } of await this.#writes.answers(inputs, ask, ({ company }, reason) =>
      refusals.add(company, reason),
    )) {
      for (const input of part) {
        const fault = faultOf(input, answer)
        if (fault) refusals.add(input.company, fault)
        else written++
      }
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

/** The companies of a part that HubSpot refused. */
class Refusals {
  readonly all: CrmRefusal[] = []
  readonly #ids = new Set<string>()

  readonly add = ({ company_id, name, domain }: OutgoingCompany, reason: string): void => {
    this.#ids.add(company_id)
    this.all.push({ company_id, name, domain, reason })
  }

  without(companies: readonly OutgoingCompany[]): OutgoingCompany[] {
    return companies.filter(({ company_id }) => !this.#ids.has(company_id))
  }
}

/** Why a batch did not write an input; empty: it did; undefined: the batch does not say. */
function faultOf({ company, id }: Input, { results = [], errors = [] }: Batch): string | undefined {
  const isOurs = (named: string | null | undefined) => named === id || named === company.company_id
  const fault = errors.find((error) => idsOf(error).some(isOurs))
  if (fault !== undefined) return messageOf(fault) || NO_REASON
  const isDone = results.some(({ id: record, objectWriteTraceId: trace, properties }) =>
    [record, trace, properties?.[KEY]].some(isOurs),
  )
  return errors.length === 0 || isDone ? '' : undefined
}

/** The domain that HubSpot shows. A record has further ones after a merge. */
function mainDomainOf({ properties }: HubSpotCompany): string {
  return (properties.domain ?? '').toLowerCase()
}

function domainsOf(record: HubSpotCompany): ReadonlySet<string> {
  const further = (record.properties[FURTHER_DOMAINS] ?? '').toLowerCase().split(';')
  return new Set([mainDomainOf(record), ...further.map((domain) => domain.trim())])
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
  // A group is enough for a match.
  const filterGroups = ['domain', FURTHER_DOMAINS].map((propertyName) => ({
    filters: [{ propertyName, operator: 'IN', values: domains }],
  }))
  const properties = ['domain', FURTHER_DOMAINS, ...PROPERTIES.map(({ name }) => name)]
  return { filterGroups, properties, sorts: [], limit: SEARCH_ROWS, after }
}

/** Companies in parts whose search is within the length that HubSpot allows. */
function inBodies(companies: readonly OutgoingCompany[]): OutgoingCompany[][] {
  const room = SEARCH_BODY_CHARS - JSON.stringify(searchBody([], '000000')).length
  const parts: OutgoingCompany[][] = []
  let chars = 0
  for (const company of companies) {
    // In both filters, with quotes and a comma.
    const size = 2 * (company.domain.length + 3)
    if (parts.length === 0 || chars + size > room) {
      parts.push([])
      chars = 0
    }
    parts.at(-1)!.push(company)
    chars += size
  }
  return parts
}
