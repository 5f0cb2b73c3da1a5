import { useState } from 'preact/hooks'
import { FIT_LIMITS, type FitAnswer, type FitLine, type FitPreview } from '../../../../../schemas/dashboard/fit.ts'
import { CorrectionChanges } from '../../components/correction-changes.tsx'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Disclosure } from '../../design/details.tsx'
import { FieldError } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Problem, sentence } from '../../design/notice.tsx'
import { Section } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { Stat, Stats } from '../../design/stat.tsx'
import { Table } from '../../design/table.tsx'
import { companiesPath } from '../../lib/company-links.ts'
import { changeSetting } from '../../lib/corrections.ts'
import { number } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { usePreview } from '../../lib/use-preview.ts'
import { TEXTS } from '../../texts/texts.ts'
import { AddSign } from './add-sign.tsx'

const texts = TEXTS.heatAndFit.signs

/** What a tenant says about good companies, with the number of companies that it fits. */
export function FitSigns({ tenant }: { readonly tenant: string }) {
  const path = `/api/tenants/${tenant}/fit`
  const { value, error, reload } = useData<FitAnswer>(path)
  return (
    <Section title={texts.title} description={texts.about}>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined ? (
        error === undefined && <Loading rows={5} />
      ) : (
        <>
          <Signs key={JSON.stringify(value.lines)} tenant={tenant} path={path} held={value.lines} saved={reload} />
          <Disclosure summary={texts.history}>
            <CorrectionChanges tenant={tenant} changes={value.changes} none={texts.none} changed={reload} />
          </Disclosure>
        </>
      )}
    </Section>
  )
}

interface SignsProps {
  readonly tenant: string
  readonly path: string
  readonly held: FitAnswer['lines']
  readonly saved: () => void
}

function Signs({ tenant, path, held, saved }: SignsProps) {
  const [lines, setLines] = useState<readonly FitLine[]>(held.map(({ is, where }) => ({ is, where })))
  const saving = useAction()
  const preview = usePreview<FitPreview>(`${path}/preview`, lines.length === 0 ? undefined : { lines })
  const shown = lines.length === 0 ? undefined : preview.value
  const error = saving.error ?? (lines.length === 0 ? undefined : preview.error)
  const isChanged = JSON.stringify(lines) !== JSON.stringify(held.map(({ is, where }) => ({ is, where })))
  const change = (next: readonly FitLine[]) => {
    setLines(next)
    saving.reset()
  }
  const save = () =>
    saving.run(() => changeSetting(tenant, 'fit', { lines }, lines.length === 0 ? texts.noFit : texts.haveFit, saved))
  return (
    <Stack>
      {lines.length > 0 && (
        <Table
          label={texts.signs}
          rows={lines}
          keyOf={({ is, where }) => `${is} ${where}`}
          columns={[
            {
              key: 'is',
              label: texts.sign,
              render: ({ is }) => (
                <Badge tone={is === 'good' ? 'good' : 'neutral'}>
                  {is === 'good' ? texts.goodSign : texts.against}
                </Badge>
              ),
            },
            {
              key: 'where',
              label: TEXTS.words.fields.companies,
              text: 'wrap',
              render: (line) => labelOf(line, shown, held),
            },
            {
              key: 'companies',
              label: texts.howMany,
              isNumber: true,
              render: (line) => {
                const found = foundOf(line, shown)
                return found === undefined ? '…' : number(found.companies)
              },
            },
            {
              key: 'actions',
              label: TEXTS.words.fields.actions,
              isLabelHidden: true,
              isActions: true,
              render: (line) => (
                <Button
                  size="s"
                  aria-label={texts.removeOf(labelOf(line, shown, held))}
                  onClick={() => change(lines.filter((each) => each !== line))}
                >
                  {TEXTS.words.buttons.remove}
                </Button>
              ),
            },
          ]}
        />
      )}
      <FieldError error={error && sentence(error)} />
      {shown !== undefined && <Figures tenant={tenant} preview={shown} isSaved={!isChanged} />}
      {(isChanged || lines.length > 0) && (
        <Row justify="between">
          <Text tone="soft" role="status">
            {isChanged ? texts.notSaved : ''}
          </Text>
          <Button variant="primary" disabled={!isChanged || saving.isBusy} onClick={save}>
            {texts.save}
          </Button>
        </Row>
      )}
      {lines.length < FIT_LIMITS.lines ? (
        <AddSign
          tenant={tenant}
          onAdd={(line) => change([...lines.filter((each) => each.is !== line.is || each.where !== line.where), line])}
        />
      ) : (
        <Text tone="soft">{texts.atMost(FIT_LIMITS.lines)}</Text>
      )}
    </Stack>
  )
}

/** The server writes a condition in one spelling, and keeps the order of the signs. */
function foundOf(line: FitLine, preview: FitPreview | undefined) {
  return preview?.lines.find(({ is, where }) => is === line.is && where === line.where)
}

function labelOf(line: FitLine, preview: FitPreview | undefined, held: FitAnswer['lines']): string {
  const known = foundOf(line, preview) ?? held.find(({ is, where }) => is === line.is && where === line.where)
  return known?.label ?? line.where
}

const LEVELS = [
  { name: 'good', label: texts.good },
  { name: 'ok', label: texts.ok },
  { name: 'poor', label: texts.poor },
] as const

interface FiguresProps {
  readonly tenant: string
  readonly preview: FitPreview
  readonly isSaved: boolean
}

function Figures({ tenant, preview, isSaved }: FiguresProps) {
  const all = preview.good + preview.ok + preview.poor
  return (
    <Stats>
      {LEVELS.map(({ name, label }) => (
        <Stat
          key={name}
          label={label}
          value={number(preview[name])}
          {...(isSaved && { href: companiesPath(tenant, { fit: name }) })}
        >
          {texts.of(all)}
        </Stat>
      ))}
    </Stats>
  )
}
