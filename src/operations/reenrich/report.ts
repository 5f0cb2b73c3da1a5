import { compareTexts } from '../../run/compare-texts.ts'
import { columnValue, type Judgement } from './judge.ts'
import type { EnrichmentColumn, Group, Values } from './ports.ts'

/** An account that keeps its id and gets another name or other attributes. */
interface RenamedAccount {
  readonly account_id: string
  /** Name and domain of most of its events. */
  readonly before: AccountName
  readonly after: AccountName
  readonly events: number
}

interface AccountName {
  readonly business_name: string
  readonly domain: string
}

/** Events whose account becomes another one. */
interface MergedAccount {
  readonly from: string
  readonly to: string
  /** Whether the account is new. */
  readonly to_is_new: boolean
  readonly events: number
}

/** Result of a reenrichment. Every changed event counts in one of the kinds from `renamed` to `other`. */
export interface ReenrichReport {
  readonly events: {
    readonly judged: number
    readonly changed: number
    /** Stored without their address. */
    readonly not_judged: number
  }
  /** Distinct addresses of judged events. */
  readonly addresses: number
  readonly renamed: { readonly accounts: number; readonly events: number; readonly list: readonly RenamedAccount[] }
  readonly merged: { readonly accounts: number; readonly events: number; readonly list: readonly MergedAccount[] }
  /** Events that get an organisation. `accounts` counts new accounts, those of `merged` included. */
  readonly found: { readonly accounts: number; readonly events: number }
  /** Events that lose their organisation. */
  readonly lost: { readonly accounts: number; readonly events: number }
  /** Hidden events that are noise no longer. */
  readonly shown: { readonly events: number }
  /** Hidden events that are removed for good. */
  readonly deleted: { readonly events: number }
  /** Events that are noise today, by classification. They are hidden. */
  readonly filtered: { readonly events: number; readonly classifications: Readonly<Record<string, number>> }
  /** Only host name, AS or quality changes: accounts do not show these. */
  readonly other: { readonly events: number }
}

/** Columns that accounts show. Not `quality`: it changes with every data file. */
const SHOWN: readonly EnrichmentColumn[] = [
  'company_id',
  ...(['business_name', 'org_name', 'domain', 'industry', 'industry_category', 'classification'] as const),
  'country_code',
]

interface Renaming {
  before: AccountName
  after: AccountName
  events: number
  /** Events of the group with the names. */
  most: number
}

/** Sums up judgements. Its memory grows with changed accounts, not with events or addresses. */
export class ReportBuilder {
  #judged = 0
  #notJudged = 0
  #changed = 0
  #addresses = 0
  #otherEvents = 0
  #shown = 0
  #deleted = 0
  readonly #found = { events: 0 }
  readonly #lost = { events: 0, accounts: new Set<string>() }
  readonly #filtered = new Map<string, number>()
  readonly #renamed = new Map<string, Renaming>()
  readonly #merged = new Map<string, { from: string; to: string; events: number }>()
  /** New accounts of events. They may exist already. */
  readonly #gained = new Set<string>()

  get changed(): number {
    return this.#changed
  }

  countAddresses(addresses: number): void {
    this.#addresses += addresses
  }

  /** @param judgement undefined: the events have no address */
  add(group: Group, judgement: Judgement | undefined): void {
    const { events } = group
    if (judgement === undefined) {
      this.#notJudged += events
      return
    }
    this.#judged += events
    if (!judgement.isChange) return
    this.#changed += events
    const { to, hiding, classification } = judgement
    if (to === 'gone') this.#deleted += events
    else if (group.hiding !== undefined && to === 'events') this.#shown += events
    // Another rule hides them now.
    else if (group.hiding !== undefined) this.#otherEvents += events
    if (group.hiding !== undefined) return
    if (to === 'hidden') {
      const name = hiding?.reason || classification
      this.#filtered.set(name, (this.#filtered.get(name) ?? 0) + events)
      return
    }
    this.#addKept(group, judgement.values)
  }

  #addKept({ accountId, values, events }: Group, today: Values): void {
    const before = columnValue(values, 'company_id')
    const after = columnValue(today, 'company_id')
    const account = accountId === before ? after : accountId
    if (before === '' && after !== '') {
      this.#found.events += events
      this.#gained.add(account)
    } else if (before !== '' && after === '') {
      this.#lost.events += events
      this.#lost.accounts.add(accountId)
    } else if (account !== accountId) {
      this.#merge(accountId, account, events)
    } else if (after !== '' && isShown(values, today)) {
      this.#rename(account, values, today, events)
    } else {
      this.#otherEvents += events
    }
  }

  #merge(from: string, to: string, events: number): void {
    this.#gained.add(to)
    const key = `${from}\0${to}`
    const merged = this.#merged.get(key)
    if (merged === undefined) this.#merged.set(key, { from, to, events })
    else merged.events += events
  }

  #rename(account: string, values: Values, today: Values, events: number): void {
    const names = { before: nameOf(values), after: nameOf(today) }
    const renaming = this.#renamed.get(account)
    if (renaming === undefined) {
      this.#renamed.set(account, { ...names, events, most: events })
      return
    }
    renaming.events += events
    if (events > renaming.most) Object.assign(renaming, names, { most: events })
  }

  /** @param accountsAmong returns the ids that are accounts already */
  async finish(accountsAmong: (ids: readonly string[]) => Promise<ReadonlySet<string>>): Promise<ReenrichReport> {
    const gained = [...this.#gained]
    const existing = await accountsAmong(gained)
    const merged = [...this.#merged.values()]
      .map(({ from, to, events }) => ({ from, to, to_is_new: !existing.has(to), events }))
      .sort((a, b) => b.events - a.events || compareTexts(a.from, b.from) || compareTexts(a.to, b.to))
    const renamed = [...this.#renamed]
      .map(([account_id, { before, after, events }]) => ({ account_id, before, after, events }))
      .sort((a, b) => b.events - a.events || compareTexts(a.account_id, b.account_id))
    const classifications = Object.fromEntries([...this.#filtered].sort(([a], [b]) => compareTexts(a, b)))
    return {
      events: { judged: this.#judged, changed: this.#changed, not_judged: this.#notJudged },
      addresses: this.#addresses,
      renamed: { accounts: renamed.length, events: sum(renamed), list: renamed },
      merged: { accounts: new Set(merged.map(({ from }) => from)).size, events: sum(merged), list: merged },
      found: { accounts: gained.filter((id) => !existing.has(id)).length, events: this.#found.events },
      lost: { accounts: this.#lost.accounts.size, events: this.#lost.events },
      ...{ shown: { events: this.#shown }, deleted: { events: this.#deleted } },
      filtered: { events: [...this.#filtered.values()].reduce((all, n) => all + n, 0), classifications },
      other: { events: this.#otherEvents },
    }
  }
}

function isShown(before: Values, after: Values): boolean {
  return SHOWN.some((column) => columnValue(before, column) !== columnValue(after, column))
}

function nameOf(values: Values): AccountName {
  return { business_name: columnValue(values, 'business_name'), domain: columnValue(values, 'domain') }
}

function sum(list: readonly { readonly events: number }[]): number {
  return list.reduce((all, { events }) => all + events, 0)
}
