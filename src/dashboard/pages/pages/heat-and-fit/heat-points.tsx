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
import { counted, number } from '../../lib/format.ts'
import { HeatLevelsContext } from '../../lib/heat.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { usePreview } from '../../lib/use-preview.ts'

type Part = (typeof HEAT_PARTS)[number]

const WORDS: Readonly<Record<Part, readonly [label: string, hint: string]>> = {
  recency: ['Last visit', 'All points for a visit today, half of them for each week since.'],
  frequency: ['Days with visits', 'All points from 15 of the last 30 days on.'],
  depth: ['Events a day', 'All points from 31 events a day on.'],
  intent: ['Days with intent pages', 'All points from 7 days on.'],
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
    <Section
      title="Points of heat"
      description={`Heat has ${HEAT_POINTS} points. Give more of them to what shows interest on your site. A change applies to all companies at once.`}
    >
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
          <Disclosure summary="History of points">
            <CorrectionChanges
              tenant={tenant}
              changes={value.changes}
              none="These are the default points."
              changed={changed}
            />
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
          saving.run(() => changeSetting(tenant, 'heat-weights', wanted, 'The points of heat are changed.', saved))
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
              <Button onClick={() => setTyped(textsOf(DEFAULT_HEAT_WEIGHTS))}>Default points</Button>
              <Button type="submit" variant="primary" disabled={!isWhole || !isChanged || saving.isBusy}>
                Save points
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
  if (Number.isNaN(sum)) return 'Points are whole numbers, 0 to 100.'
  if (sum === HEAT_POINTS) return `All ${HEAT_POINTS} points are given.`
  const off = counted(Math.abs(HEAT_POINTS - sum), 'point')
  return sum < HEAT_POINTS ? `${off} left to give.` : `${off} too many.`
}

function Lists({
  preview: { now, wanted },
  isChanged,
}: {
  readonly preview: HeatPreview
  readonly isChanged: boolean
}) {
  if (now.length === 0) return <Text tone="soft">No company was seen yet, so there is nothing to compare.</Text>
  return (
    <Grid min={320} gap={5}>
      <Ranked title="Hottest now" rows={now} before={now} />
      {isChanged && <Ranked title="Hottest with these points" rows={wanted} before={now} />}
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
            label: 'Company',
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
          { key: 'heat', label: 'Heat', isNumber: true, render: ({ heat }) => number(heat) },
          ...(rows === before
            ? []
            : [
                {
                  key: 'moved',
                  label: 'Moved',
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
  if (before < 0) return 'new here'
  if (before === now) return '–'
  return before > now ? `up ${before - now}` : `down ${now - before}`
}
