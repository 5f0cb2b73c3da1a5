import { useContext, useState } from 'preact/hooks'
import {
  DEFAULT_HEAT_WEIGHTS,
  HEAT_PARTS,
  HEAT_POINTS,
  type HeatPreview,
  type HeatWeights,
  type HeatWeightsAnswer,
} from '../../../../../schemas/dashboard/heat.ts'
import { CorrectionChanges } from '../../components/correction-changes.tsx'
import { Button } from '../../design/button.tsx'
import { Disclosure } from '../../design/details.tsx'
import { FieldError, TextInput } from '../../design/field.tsx'
import { Grid, Row, Stack, Text } from '../../design/layout.tsx'
import { Problem, sentence } from '../../design/notice.tsx'
import { Card, Section } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { Table } from '../../design/table.tsx'
import { changeSetting } from '../../lib/corrections.ts'
import { number } from '../../lib/format.ts'
import { HeatLevelsContext } from '../../lib/heat.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { usePreview } from '../../lib/use-preview.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.heatAndFit.points

type Part = (typeof HEAT_PARTS)[number]

const WORDS: Readonly<Record<Part, readonly [label: string, hint: string]>> = {
  recency: [texts.recency, texts.aboutRecency],
  frequency: [texts.frequency, texts.aboutFrequency],
  depth: [texts.depth, texts.aboutDepth],
  intent: [texts.intent, texts.aboutIntent],
}

/** The points of each part of heat, with the hottest companies before and after. */
export function HeatPoints({ tenant }: { readonly tenant: string }) {
  const path = `/api/tenants/${tenant}/heat-weights`
  const { value, error, reload } = useData<HeatWeightsAnswer>(path)
  const levels = useContext(HeatLevelsContext)
  const changed = () => {
    reload()
    levels.reload()
  }
  return (
    <Section title={texts.title} description={texts.about(HEAT_POINTS)}>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined ? (
        error === undefined && <Loading rows={6} />
      ) : (
        <>
          <Points
            key={JSON.stringify(value.weights)}
            tenant={tenant}
            path={path}
            held={value.weights}
            saved={changed}
          />
          <Disclosure summary={texts.history}>
            <CorrectionChanges tenant={tenant} changes={value.changes} none={texts.areDefault} changed={changed} />
          </Disclosure>
        </>
      )}
    </Section>
  )
}

interface PointsProps {
  readonly tenant: string
  readonly path: string
  readonly held: HeatWeights
  readonly saved: () => void
}

function Points({ tenant, path, held, saved }: PointsProps) {
  const [typed, setTyped] = useState<Readonly<Record<Part, string>>>(textsOf(held))
  const saving = useAction()
  const points = HEAT_PARTS.map((part) => (/^\d{1,3}$/.test(typed[part]) ? Number(typed[part]) : Number.NaN))
  const sum = points.reduce((all, each) => all + each, 0)
  const isWhole = sum === HEAT_POINTS
  const wanted = Object.fromEntries(HEAT_PARTS.map((part, i) => [part, points[i]!])) as unknown as HeatWeights
  const isChanged = HEAT_PARTS.some((part) => wanted[part] !== held[part])
  const preview = usePreview<HeatPreview>(`${path}/preview`, isWhole ? wanted : undefined)
  const error = saving.error ?? preview.error
  return (
    <Stack>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          saving.run(() => changeSetting(tenant, 'heat-weights', wanted, texts.changed, saved))
        }}
      >
        <Stack gap={3}>
          <Grid min={200}>
            {HEAT_PARTS.map((part) => (
              <TextInput
                key={part}
                label={WORDS[part][0]}
                hint={WORDS[part][1]}
                inputMode="numeric"
                pattern="[0-9]{1,3}"
                maxLength={3}
                required
                value={typed[part]}
                onInput={(text) => {
                  setTyped({ ...typed, [part]: text })
                  saving.reset()
                }}
              />
            ))}
          </Grid>
          <Row justify="between">
            <Text role="status" tone={isWhole ? 'soft' : 'bad'}>
              {sumText(sum)}
            </Text>
            <Row gap={2}>
              <Button onClick={() => setTyped(textsOf(DEFAULT_HEAT_WEIGHTS))}>{texts.default}</Button>
              <Button type="submit" variant="primary" disabled={!isWhole || !isChanged || saving.isBusy}>
                {texts.save}
              </Button>
            </Row>
          </Row>
          <FieldError error={error && sentence(error)} />
        </Stack>
      </form>
      {preview.value === undefined ? (
        preview.error === undefined && isWhole && <Loading rows={5} />
      ) : (
        <Lists preview={preview.value} isChanged={isChanged} />
      )}
    </Stack>
  )
}

const textsOf = (weights: HeatWeights) =>
  Object.fromEntries(HEAT_PARTS.map((part) => [part, String(weights[part])])) as Record<Part, string>

function sumText(sum: number): string {
  if (Number.isNaN(sum)) return texts.whole
  if (sum === HEAT_POINTS) return texts.allGiven(HEAT_POINTS)
  return sum < HEAT_POINTS ? texts.left(HEAT_POINTS - sum) : texts.tooMany(sum - HEAT_POINTS)
}

function Lists({
  preview: { now, wanted },
  isChanged,
}: {
  readonly preview: HeatPreview
  readonly isChanged: boolean
}) {
  if (now.length === 0) return <Text tone="soft">{texts.none}</Text>
  return (
    <Grid min={320} gap={5}>
      <Ranked title={texts.hottest} rows={now} before={now} />
      {isChanged && <Ranked title={texts.hottestWith} rows={wanted} before={now} />}
    </Grid>
  )
}

interface RankedProps {
  readonly title: string
  readonly rows: HeatPreview['now']
  readonly before: HeatPreview['now']
}

function Ranked({ title, rows, before }: RankedProps) {
  const placeOf = (id: string) => before.findIndex(({ company_id }) => company_id === id)
  const places = new Map(rows.map(({ company_id }, i) => [company_id, i]))
  return (
    <Card title={title} isTight>
      <Table
        label={title}
        rows={rows}
        keyOf={({ company_id }) => company_id}
        columns={[
          {
            key: 'name',
            label: TEXTS.words.fields.company,
            text: 'wrap',
            render: ({ company_id: id, name }) => (
              <>
                <Text as="span" tone="soft">
                  {places.get(id)! + 1}.
                </Text>{' '}
                {name}
              </>
            ),
          },
          { key: 'heat', label: TEXTS.words.fields.heat, isNumber: true, render: ({ heat }) => number(heat) },
          ...(rows === before
            ? []
            : [
                {
                  key: 'moved',
                  label: texts.moved,
                  render: ({ company_id: id }: HeatPreview['now'][number]) => movedText(placeOf(id), places.get(id)!),
                },
              ]),
        ]}
      />
    </Card>
  )
}

/** @param before place in the list of now; -1: not in it */
function movedText(before: number, now: number): string {
  if (before < 0) return texts.new
  if (before === now) return '–'
  return before > now ? texts.up(before - now) : texts.down(now - before)
}
