import type { SystemAnswer } from '../../../../../schemas/dashboard/system.ts'
import { Soft } from '../../components/judgement.tsx'
import { Badge, type Tone } from '../../design/badge.tsx'
import { Text } from '../../design/layout.tsx'
import { number, utc } from '../../lib/format.ts'
import { DataUpdates } from './data-update.tsx'
import { type MayFail, TableSection } from './section.tsx'

type DataSet = SystemAnswer['data'][number]

interface DataSetsProps extends MayFail {
  readonly sets: readonly DataSet[]
  readonly update: SystemAnswer['data_update']
}

/** Data sets of the enrichment. A replaced set is not in use. */
export function DataSets({ sets, update, failure }: DataSetsProps) {
  return (
    <>
      <TableSection
        title="Data sets"
        none="No process has enrichment data: only reserved networks are recognised."
        failure={failure}
        rows={sets}
        keyOf={({ name }) => name}
        columns={[
          { key: 'name', label: 'Name', render: ({ name }) => name },
          { key: 'state', label: 'State', text: 'wrap', inCard: 'plain', render: (set) => <State set={set} /> },
          {
            key: 'recognised',
            label: 'Recognised as',
            text: 'wrap',
            inCard: 'whole',
            render: (set) => (
              <>
                {isUsed(set) ? (set.recognised_as ?? <Soft>nothing</Soft>) : <Soft>not in use</Soft>}
                {set.attribution !== null && (
                  <Text as="div" tone="soft" isSmall>
                    {set.attribution}
                  </Text>
                )}
              </>
            ),
          },
          {
            key: 'records',
            label: 'Records',
            isNumber: true,
            render: (set) => (isUsed(set) ? number(set.records) : '–'),
          },
          { key: 'age', label: 'Age', isNumber: true, render: (set) => <Age set={set} /> },
        ]}
      />
      {update !== null && <DataUpdates update={update} />}
    </>
  )
}

function isUsed({ state }: DataSet): boolean {
  return state !== 'replaced'
}

function Age({ set }: { readonly set: DataSet }) {
  if (!isUsed(set)) return <>–</>
  const { age_days: days, built_at: at } = set
  return <span title={at === null ? undefined : utc(at)}>{days === null ? 'unknown' : `${number(days)} d`}</span>
}

/** Only these states are problems. */
const TONES: Readonly<Record<string, Tone>> = { failed: 'bad', stale: 'bad', ignored: 'warn' }

function State({ set: { state, reason, too_old: isOld, newer } }: { readonly set: DataSet }) {
  if (state === 'ok') {
    return (
      <>
        <Badge tone={isOld ? 'warn' : 'good'}>{isOld ? 'old' : 'ok'}</Badge>
        {newer !== null && <Soft> {newer} is newer</Soft>}
      </>
    )
  }
  return (
    <>
      <Badge tone={TONES[state]}>{state}</Badge> {reason}
    </>
  )
}
