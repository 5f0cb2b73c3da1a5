import type { SystemAnswer } from '../../../../../schemas/dashboard/system.ts'
import { number, utc } from '../../lib/format.ts'
import { DataUpdates } from './data-update.tsx'
import { type MayFail, TableSection } from './section.tsx'

type DataSet = SystemAnswer['data'][number]

/** Data sets of the enrichment. */
export function DataSets({
  sets,
  update,
  failure,
}: {
  readonly sets: readonly DataSet[]
  readonly update: SystemAnswer['data_update']
} & MayFail) {
  return (
    <>
      <TableSection
        title="Data sets"
        columns={['Name', 'State', 'Recognised as', 'Records#', 'Age#', 'Attribution and licence']}
        none="No process has enrichment data: only reserved networks are recognised."
        failure={failure}
      >
        {sets.map((set) => (
          <tr key={set.name}>
            <td>{set.name}</td>
            <td class={set.state === 'ok' ? undefined : 'wrapping'}>
              <State set={set} />
            </td>
            <Contents set={set} />
            <td class="wrapping">{set.attribution ?? <span class="soft">none in the file</span>}</td>
          </tr>
        ))}
      </TableSection>
      {update !== null && <DataUpdates update={update} />}
    </>
  )
}

/** A replaced set is not in use. */
function Contents({ set }: { readonly set: DataSet }) {
  if (set.state === 'replaced') {
    return (
      <td class="soft" colSpan={3}>
        not in use
      </td>
    )
  }
  return (
    <>
      <td class="wrapping">{set.recognised_as ?? <span class="soft">nothing</span>}</td>
      <td class="number">{number(set.records)}</td>
      <td class="number" title={set.built_at === null ? undefined : utc(set.built_at)}>
        {set.age_days === null ? 'unknown' : `${number(set.age_days)} d`}
      </td>
    </>
  )
}

/** Only these states are problems. */
const TAGS: Readonly<Record<string, string>> = { failed: 'tag bad', stale: 'tag bad', ignored: 'tag warn' }

function State({ set: { state, reason, too_old: isOld, newer } }: { readonly set: DataSet }) {
  if (state === 'ok') {
    return (
      <>
        <span class={isOld ? 'tag warn' : 'tag good'}>{isOld ? 'old' : 'ok'}</span>
        {newer !== null && <span class="soft"> {newer} is newer</span>}
      </>
    )
  }
  return (
    <>
      <span class={TAGS[state] ?? 'tag'}>{state}</span> {reason}
    </>
  )
}
