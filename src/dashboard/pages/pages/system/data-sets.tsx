import { RefreshCw } from 'lucide-preact'
import { useState } from 'preact/hooks'
import type { DataUpdate, SystemAnswer } from '../../../../../schemas/dashboard/system.ts'
import { Soft } from '../../components/judgement.tsx'
import { Badge, type Tone } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { CodeLine } from '../../design/code.tsx'
import { FieldError } from '../../design/field.tsx'
import { Row, Text } from '../../design/layout.tsx'
import { Notice, sentence } from '../../design/notice.tsx'
import { Card } from '../../design/page.tsx'
import { Time } from '../../design/time.tsx'
import { post } from '../../lib/api.ts'
import { number, utc } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'
import { TEXTS } from '../../texts/texts.ts'
import { type MayFail, TableSection } from './section.tsx'

const texts = TEXTS.system.dataSets

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
        title={texts.title}
        none={texts.none}
        failure={failure}
        rows={sets}
        keyOf={({ name }) => name}
        columns={[
          { key: 'name', label: texts.name, render: ({ name }) => name },
          {
            key: 'state',
            label: TEXTS.words.fields.state,
            text: 'wrap',
            inCard: 'plain',
            render: (set) => <State set={set} />,
          },
          {
            key: 'recognised',
            label: texts.recognisedAs,
            text: 'wrap',
            inCard: 'whole',
            render: (set) => (
              <>
                {isUsed(set) ? (set.recognised_as ?? <Soft>{texts.nothing}</Soft>) : <Soft>{texts.notInUse}</Soft>}
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
            label: texts.records,
            isNumber: true,
            render: (set) => (isUsed(set) ? number(set.records) : '–'),
          },
          { key: 'age', label: texts.age, isNumber: true, render: (set) => <Age set={set} /> },
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
  return (
    <span title={at === null ? undefined : utc(at)}>{days === null ? texts.unknown : texts.days(number(days))}</span>
  )
}

/** Only these states are problems. */
const TONES: Readonly<Record<string, Tone>> = { failed: 'bad', stale: 'bad', ignored: 'warn' }

function State({ set: { state, reason, too_old: isOld, newer } }: { readonly set: DataSet }) {
  if (state === 'ok') {
    return (
      <>
        <Badge tone={isOld || reason !== null ? 'warn' : 'good'}>{isOld ? texts.old : texts.ok}</Badge> {reason}
        {newer !== null && <Soft> {texts.isNewer(newer)}</Soft>}
      </>
    )
  }
  return (
    <>
      <Badge tone={TONES[state]}>{state}</Badge> {reason}
    </>
  )
}

/** A button that fetches newer data, and the result of the last update. */
function DataUpdates({ update: reported }: { readonly update: DataUpdate }) {
  const { isBusy, error, run } = useAction()
  const [answered, setAnswered] = useState<DataUpdate>()
  // The stream may still report the state from before the button was pressed.
  const update = (answered?.asked_at ?? '') > (reported.asked_at ?? '') ? answered! : reported
  const isFetching = isBusy || update.state === 'fetching'
  const fetchNow = () => run(async () => setAnswered(await post<DataUpdate>('/api/system/data-update')))
  return (
    <Card isTight>
      <Offer update={update} />
      {update.blocked === null ? (
        <Row>
          <Button icon={RefreshCw} disabled={isFetching} onClick={fetchNow}>
            {isFetching ? texts.fetching : update.state === 'failed' ? texts.again : texts.fetch}
          </Button>
          <Text as="span" tone="soft" role="status">
            <Outcome update={update} />
          </Text>
        </Row>
      ) : (
        <>
          <p>{sentence(update.blocked)}</p>
          <CodeLine text={update.command} label={texts.command} />
        </>
      )}
      {update.state === 'failed' && !isBusy && <Failures update={update} />}
      <FieldError error={error === undefined ? undefined : sentence(error)} />
    </Card>
  )
}

function Offer({ update: { adds, keyed } }: { readonly update: DataUpdate }) {
  return (
    <>
      {adds.length === 0 ? (
        <p>{texts.byItself}</p>
      ) : (
        <p>
          {texts.available(
            adds.map(({ name, holds, licence }, i) => (
              <span key={name}>
                {i === 0 ? '' : '; '}
                <strong>{name}</strong> ({holds}, {licence})
              </span>
            )),
          )}
        </p>
      )}
      {keyed.map(({ name, holds, key_env: keyEnv }) => (
        <p key={name}>
          {texts.needsKey(<strong>{name}</strong>, holds, <code>{keyEnv}</code>, <code>./ipid db add {name}</code>)}
        </p>
      ))}
    </>
  )
}

function Outcome({ update: { state, at, changed, failures } }: { readonly update: DataUpdate }) {
  if (at === null) return null
  if (state === 'fetching') {
    return <>{texts.began(<Time at={at} isAgo />)}</>
  }
  const ago = <Time at={at} isAgo />
  if (failures.length > 0) return <>{texts.tried(ago, changed)}</>
  return <>{texts.fetched(ago, changed)}</>
}

function Failures({ update: { failures } }: { readonly update: DataUpdate }) {
  return (
    <Notice tone="bad" role="alert">
      {failures.map(({ file, reason }) => (
        <p key={file}>
          <strong>{file}</strong>: {reason}
        </p>
      ))}
    </Notice>
  )
}
