import { numbered } from '../../../run/counted.ts'
import { printLine, printPairs, printTable } from '../../../terminal/print.ts'
import type { ReenrichResult } from './reenrich.ts'

/** Accounts in each printed table; `--json` has all. */
const LISTED = 20

/** Prints the changes, or those that a dry run found. */
export function printReenrich(out: NodeJS.WritableStream, result: ReenrichResult): void {
  const { events, renamed, merged, found, lost, filtered, other } = result
  const classes = Object.entries(filtered.classifications).map(([name, n]) => `${name} ${n}`)
  printPairs(out, [
    ['tenant', result.tenant_id],
    ['received', `${result.from} to ${result.to}, until ${result.received_until}`],
    ['data', result.data.join(', ')],
    ['dry run', result.dry_run ? 'yes: nothing was changed' : 'no'],
    ['events judged', `${events.judged}, from ${numbered(result.addresses, 'address', 'addresses')}`],
    ['not judged', events.not_judged === 0 ? 0 : `${eventsText(events.not_judged)} stored without their address`],
    ['events changed', events.changed],
    ['accounts renamed', `${renamed.accounts} with ${eventsText(renamed.events)}`],
    ['accounts merged', `${merged.accounts} with ${eventsText(merged.events)}`],
    ['newly found', `${eventsText(found.events)}; accounts that are new: ${found.accounts}`],
    ['newly lost', `${eventsText(lost.events)} of ${numbered(lost.accounts, 'account')}`],
    ['newly filtered', `${eventsText(filtered.events)}${classes.length === 0 ? '' : `: ${classes.join(', ')}`}`],
    ['shown again', eventsText(result.shown.events)],
    ['other changes', `${eventsText(other.events)}: host name, AS or quality`],
  ])
  if (merged.list.length > 0) {
    printLine(out, '')
    const rows = merged.list
      .slice(0, LISTED)
      .map(({ from, to, to_is_new, events: n }) => [from, to, to_is_new ? 'new' : 'existing', n])
    printTable(out, ['ACCOUNT', 'BECOMES', 'WHICH IS', 'EVENTS'], rows)
  }
  if (renamed.list.length > 0) {
    printLine(out, '')
    const rows = renamed.list
      .slice(0, LISTED)
      .map(({ account_id, before, after, events: n }) => [account_id, nameOf(before), nameOf(after), n])
    printTable(out, ['ACCOUNT', 'BEFORE', 'AFTER', 'EVENTS'], rows)
  }
}

const eventsText = (events: number) => numbered(events, 'event')

function nameOf({ business_name, domain }: ReenrichResult['renamed']['list'][number]['before']): string {
  return [business_name, domain].filter((text) => text !== '').join(', ')
}
