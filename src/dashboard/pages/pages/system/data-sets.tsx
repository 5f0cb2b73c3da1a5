import type { SystemAnswer } from '../../../../../schemas/dashboard/system.ts'
import { CodeLine } from '../../components/code-line.tsx'
import { number, utc } from '../../lib/format.ts'
import { TableSection } from './section.tsx'

type DataSet = SystemAnswer['data'][number]

/** What is known of addresses, and from whom. */
export function DataSets({ sets }: { readonly sets: readonly DataSet[] }) {
  return (
    <>
      <TableSection
        title="Data sets"
        columns={['Name', 'State', 'Recognised as', 'Records#', 'Age#', 'Attribution and licence']}
        none="No process has enrichment data: addresses are told apart by reserved networks only."
      >
        {sets.map((set) => (
          <tr key={set.name}>
            <td>{set.name}</td>
            <td class={set.state === 'ok' ? undefined : 'wrapping'}>
              <State set={set} />
            </td>
            <td class="wrapping">{set.recognised_as ?? <span class="soft">nothing</span>}</td>
            <td class="number">{number(set.records)}</td>
            <td class="number" title={set.built_at === null ? undefined : utc(set.built_at)}>
              {set.age_days === null ? 'unknown' : `${number(set.age_days)} d`}
            </td>
            <td class="wrapping">{set.attribution ?? <span class="soft">the file says nothing of it</span>}</td>
          </tr>
        ))}
      </TableSection>
      {sets.some(({ too_old: isOld, state }) => isOld || (state !== 'ok' && state !== 'waiting')) && (
        <CodeLine text="./ipid db update" label="Command that fetches newer data" />
      )}
    </>
  )
}

function State({ set: { state, reason, too_old: isOld } }: { readonly set: DataSet }) {
  if (state === 'ok') return <span class={isOld ? 'tag warn' : 'tag good'}>{isOld ? 'old' : 'ok'}</span>
  return (
    <>
      <span class={state === 'waiting' ? 'tag' : 'tag bad'}>{state}</span> {reason}
    </>
  )
}
