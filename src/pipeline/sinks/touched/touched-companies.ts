import { ROW_COLUMNS } from '../../../../schemas/row.ts'
import { keys } from '../../../stores/redis/keys.ts'
import type { Caller } from '../../../stores/redis/pipelined-calls.ts'
import { loadScript } from '../../../stores/redis/scripts.ts'
import type { ObserverStore, RowObserver } from '../../declaration/row-observer.ts'
import type { Block } from '../../event/block.ts'
import { DAY_MS } from '../../event/outcomes.ts'
import { fromTsv } from '../../event/row.ts'

const noteScript = loadScript(import.meta.url, './noteTouched-1.lua')

/**
 * A visit is fresh when its timestamp is at most this old. An upload of the past touches no company; rows that waited for a sink for a
 * day still do.
 */
export const FRESH_MS = 2 * DAY_MS
/** Noted in place of more than `TOUCHED_MAX` companies: all with a fresh visit. */
export const ALL_COMPANIES = '*'
/** Companies of a tenant that are noted one by one. */
const TOUCHED_MAX = 100_000
const PER_CALL = 1_000

/** Notes which companies of tenants with alerts have new visits, for the evaluation of alerts (src/alerts). */
export const touchedCompanies: RowObserver = {
  open({ store, clock }) {
    return (blocks) => noteTouched(store, blocks, clock.now() - FRESH_MS)
  },
}

async function noteTouched(store: ObserverStore, blocks: readonly Block[], freshSinceMs: number): Promise<void> {
  const alerting = keys.alertingTenants()
  // Asked for each insert, so that an alert sees all rows that are stored after its creation.
  if (Number(await store.callBuffer('SCARD', alerting)) === 0) return
  const touched = touchedIn(blocks, freshSinceMs)
  if (touched.size === 0) return
  const tenants = [...touched.keys()]
  const wanted = (await store.callBuffer('SMISMEMBER', alerting, ...tenants)) as number[]
  for (const [i, tenantId] of tenants.entries()) {
    if (wanted[i] !== 1) continue
    await noteCompanies(store as Caller, tenantId, [...touched.get(tenantId)!])
  }
}

/** Notes companies of a tenant. */
export async function noteCompanies(store: Caller, tenantId: string, companies: readonly string[]): Promise<void> {
  for (let at = 0; at < companies.length; at += PER_CALL) {
    const args = [TOUCHED_MAX, ...companies.slice(at, at + PER_CALL)]
    await noteScript.run(store, [keys.touchedCompanies(tenantId)], args)
  }
}

const TAB = 9
const LINE_FEED = 10
const TENANT_AT = ROW_COLUMNS.indexOf('tenant_id')
const TIMESTAMP_AT = ROW_COLUMNS.indexOf('timestamp')
const COMPANY_AT = ROW_COLUMNS.indexOf('company_id')

/** Companies with an event since a time, by tenant. */
export function touchedIn(
  blocks: readonly Pick<Block, 'rows'>[],
  freshSinceMs: number,
): ReadonlyMap<string, ReadonlySet<string>> {
  /** As in the row: unescaped once per company. */
  const raw = new Map<string, Set<string>>()
  for (const { rows } of blocks) {
    for (let start = 0; start < rows.length; ) {
      const end = rows.indexOf(LINE_FEED, start)
      const [tenantFrom, tenantTo] = fieldAt(rows, start, end, 0, TENANT_AT)
      const [timeFrom, timeTo] = fieldAt(rows, tenantTo + 1, end, TENANT_AT + 1, TIMESTAMP_AT)
      // Years that are written as text are not fresh.
      if (Number(rows.toString('latin1', timeFrom, timeTo)) * 1_000 >= freshSinceMs) {
        const [from, to] = fieldAt(rows, timeTo + 1, end, TIMESTAMP_AT + 1, COMPANY_AT)
        if (to > from) {
          const tenantId = rows.toString('latin1', tenantFrom, tenantTo)
          const companies = raw.get(tenantId) ?? new Set()
          companies.add(rows.toString('latin1', from, to))
          raw.set(tenantId, companies)
        }
      }
      start = end + 1
    }
  }
  const decoded = (text: string) => fromTsv(Buffer.from(text, 'latin1').toString('utf8'))
  return new Map([...raw].map(([tenantId, companies]) => [tenantId, new Set([...companies].map(decoded))]))
}

/** Where a field lies. @param at the field that begins at `from` */
function fieldAt(rows: Buffer, from: number, end: number, at: number, wanted: number): readonly [number, number] {
  let begin = from
  for (let field = at; field < wanted; field++) {
    const tab = rows.indexOf(TAB, begin)
    if (tab < 0 || tab > end) return [end, end]
    begin = tab + 1
  }
  const tab = rows.indexOf(TAB, begin)
  return [begin, tab < 0 || tab > end ? end : tab]
}
