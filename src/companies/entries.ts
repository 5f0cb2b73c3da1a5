import { COMPANY_LIMITS, type CompanyFilter } from '../../schemas/companies.ts'
import { addDays } from '../run/time-zone.ts'
import type { OfTenant } from '../stores/clickhouse/reader.ts'
import { conditionSql, leavesOf } from './condition.ts'
import { knownCompanies } from './corrected.ts'
import { companyDays, dayOf, type ReadBasis } from './days.ts'
import { type Leaf, leafSql, matchedSql, parametersOf, type ResolvedFilter } from './filter.ts'
import { matchingSql, within } from './list.ts'

/** Fields that a visit or a day changes. The others are about the company as it is today. */
const MOVING: ReadonlySet<string> = new Set<keyof ResolvedFilter>([
  ...([
    'days',
    'from',
    'to',
    'visits_min',
    'visits_max',
    'events_min',
    'events_max',
    'page',
    'page_contains',
    'page_visits_min',
    'new_days',
    'newFrom',
  ] as const),
  ...(['source', 'source_not', 'campaign', 'campaign_not'] as const),
])

/** A company, and its first day as a number. */
const firstNumber = (zone: string) => `company, company_id, toInt32(${dayOf('first_seen', zone)}) AS first_number`

/** A condition on the sum of a column over the last days. */
interface Condition {
  readonly column: string
  /** Whether it is a column of `matchedSql`. */
  readonly isMatched: boolean
  readonly holds: (sum: string) => string
}

/** @param suffix of the names in the query, see `Leaf` */
function conditionsOf(filter: CompanyFilter, suffix = ''): readonly Condition[] {
  const least = (name: 'events_min' | 'visits_min' | 'page_visits_min') => (sum: string) =>
    `${sum} >= {${name}${suffix}:UInt64}`
  const most = (name: 'events_max' | 'visits_max') => (sum: string) => `${sum} <= {${name}${suffix}:UInt64}`
  const some = (sum: string) => `${sum} > 0`
  const none = (sum: string) => `${sum} = 0`
  const counted = { isMatched: false }
  const matched = { isMatched: true }
  const all: readonly (Condition & { readonly name: keyof CompanyFilter })[] = [
    { ...counted, name: 'events_min', column: 'events', holds: least('events_min') },
    { ...counted, name: 'events_max', column: 'events', holds: most('events_max') },
    { ...counted, name: 'visits_min', column: 'visits', holds: least('visits_min') },
    { ...counted, name: 'visits_max', column: 'visits', holds: most('visits_max') },
    { ...matched, name: 'page', column: 'page_in', holds: some },
    { ...matched, name: 'page_contains', column: 'page_contains_in', holds: some },
    { ...matched, name: 'page_visits_min', column: 'page_visits', holds: least('page_visits_min') },
    { ...matched, name: 'source', column: 'source_in', holds: some },
    { ...matched, name: 'source_not', column: 'source_out', holds: none },
    { ...matched, name: 'campaign', column: 'campaign_in', holds: some },
    { ...matched, name: 'campaign_not', column: 'campaign_out', holds: none },
  ]
  const isGiven = (value: unknown) => value !== undefined && (!Array.isArray(value) || value.length > 0)
  return all
    .filter(({ name }) => isGiven(filter[name]))
    .map(({ isMatched, column, holds }) => ({ isMatched, column: isMatched ? `${column}${suffix}` : column, holds }))
}

/** Whether a visit or a day changes a term of a condition. */
function isMoving({ filter }: Leaf): boolean {
  return Object.entries(filter).some(([name, value]) => value !== undefined && MOVING.has(name))
}

/**
 * SQL of the days since a day on which companies entered a filter: columns `entered` and `companies`. A company enters with a visit, if the
 * filter keeps it at the end of that day, and did not at the end of its visit before or of the day before.
 *
 * The sums over the last days come from the sums of each day. So one query covers any number of days.
 */
export function entriesSql(
  tenantId: string,
  basis: ReadBasis,
  filter: ResolvedFilter,
  since: string,
  today: string,
): { readonly query: string; readonly parameters: OfTenant } {
  const { days, new_days } = filter
  const [from, to] = days === undefined ? [filter.from, filter.to] : []
  const until = to !== undefined && to < today ? to : today
  // The visit before an entry may be as old as the filter looks back, and counts the days before itself.
  const firstOf = (lookBack: number) => addDays(since, -2 * lookBack)
  const eventDays = days ?? (from === undefined ? COMPANY_LIMITS.eventDays : undefined)
  const counting = { from: days === undefined ? from : firstOf(days), to: until }
  const matching = { ...filter, eventFrom: eventDays === undefined ? from! : firstOf(eventDays), eventTo: until }
  const leaves = leavesOf(filter.tree)
  const isTreeMoving = leaves.some(isMoving)
  const lasting = {
    ...Object.fromEntries(Object.entries(filter).filter(([name]) => !MOVING.has(name))),
    ...(isTreeMoving && { tree: undefined }),
  } as unknown as ResolvedFilter
  // Where a visit changes a part of the condition, the other parts are columns that it is made of.
  const flags = isTreeMoving ? leaves.filter((leaf) => !isMoving(leaf)) : []
  const matched = matchedSql(matching, basis, knownCompanies(basis), 'day')
  const hasVisited: Condition = { isMatched: false, column: 'events', holds: (sum) => `${sum} > 0` }
  const conditions = [hasVisited, ...conditionsOf(filter)]
  const ofLeaves = isTreeMoving ? leaves.flatMap(({ filter: leaf, suffix }) => conditionsOf(leaf, suffix)) : []
  const columns = [...new Map([...conditions, ...ofLeaves].map((condition) => [condition.column, condition])).values()]
  const states = ['now', 'earlier'] as const
  const window = (state: (typeof states)[number], lookBack: number | undefined) => {
    const end = state === 'now' ? 'CURRENT ROW' : '1 PRECEDING'
    const begin = lookBack === undefined ? 'UNBOUNDED' : state === 'now' ? lookBack - 1 : lookBack
    return `(PARTITION BY company ORDER BY number RANGE BETWEEN ${begin} PRECEDING AND ${end})`
  }
  const sums = states.flatMap((state) =>
    columns.map(
      ({ column, isMatched }) =>
        `sum(${column}) OVER ${window(state, isMatched ? eventDays : days)} AS ${column}_${state}`,
    ),
  )
  const isNew = (state: (typeof states)[number], suffix = '') =>
    `number - first_number ${state === 'now' ? '<' : '<='} {new_days${suffix}:Int32}`
  const leafHolds = (state: (typeof states)[number], leaf: Leaf) => {
    if (!isMoving(leaf)) return `flag${leaf.suffix}`
    const { filter: term, suffix } = leaf
    if (term.new_days !== undefined) return isNew(state, suffix)
    return conditionsOf(term, suffix)
      .map(({ column, holds: of }) => of(`${column}_${state}`))
      .join(' AND ')
  }
  const holds = (state: (typeof states)[number]) =>
    [
      ...conditions.map(({ column, holds: of }) => of(`${column}_${state}`)),
      ...(new_days === undefined ? [] : [isNew(state)]),
      ...(isTreeMoving ? [conditionSql(filter.tree!, (leaf) => leafHolds(state, leaf))] : []),
    ].join(' AND ')
  const flagNames = flags.map(({ suffix }) => `, flag${suffix}`).join('')
  const ofFlags = flags.map((leaf) => `, ${leafSql(leaf, {})} AS flag${leaf.suffix}`).join('')
  const lastingSql = matchingSql(
    tenantId,
    basis,
    lasting,
    knownCompanies(basis),
    `${firstNumber(basis.zone)}${ofFlags}`,
    flags,
  ).query
  return {
    query: `
      SELECT toString(day) AS entered, groupArray(company) AS companies
      FROM
      (
        SELECT company, day, ${holds('now')} AS is_in, ${holds('earlier')} AS was_in,
          lagInFrame(is_in) OVER (PARTITION BY company ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS was_in_before
        FROM
        (
          SELECT company, day, number, first_number${flagNames}, ${sums.join(', ')}
          FROM
          (
            SELECT lasting.company_id AS company, counted.day AS day, toInt32(counted.day) AS number, lasting.first_number AS first_number${flags.map(({ suffix }) => `, lasting.flag${suffix} AS flag${suffix}`).join('')}, counted.events AS events, counted.visits AS visits${columns
              .filter(({ isMatched }) => isMatched)
              .map(({ column }) => `, toUInt64(matched.${column}) AS ${column}`)
              .join('')}
            FROM (${companyDays(basis, { within: within(counting) })}) AS counted
            ${matched === undefined ? '' : `LEFT JOIN (${matched}) AS matched ON matched.target = counted.company AND matched.day = counted.day`}
            INNER JOIN (${lastingSql}) AS lasting ON lasting.company = counted.company
          )
        )
      )
      WHERE is_in AND NOT (was_in AND was_in_before) AND day >= {since:Date32}
      GROUP BY day
      ORDER BY day`,
    parameters: {
      tenant: tenantId,
      since,
      ...parametersOf({ ...matching, ...counting }),
      ...Object.fromEntries(
        [{ filter, suffix: '' }, ...leaves].flatMap(({ filter: part, suffix }) =>
          part.new_days === undefined ? [] : [[`new_days${suffix}`, part.new_days]],
        ),
      ),
    },
  }
}
