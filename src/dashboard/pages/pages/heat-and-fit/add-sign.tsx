import { useState } from 'preact/hooks'
import type { CompanyChoices } from '../../../../../schemas/companies.ts'
import { FIT_LIMITS, type FitLine, type FitPreview } from '../../../../../schemas/dashboard/fit.ts'
import type { OwnColumn } from '../../../../../schemas/facts.ts'
import { Button } from '../../design/button.tsx'
import { Chips, FilterChip } from '../../design/chip.tsx'
import { FieldError, Select, TextInput } from '../../design/field.tsx'
import { Grow, Row, Stack } from '../../design/layout.tsx'
import { sentence } from '../../design/notice.tsx'
import { Card } from '../../design/page.tsx'
import { Segmented } from '../../design/tabs.tsx'
import { post } from '../../lib/api.ts'
import { termText } from '../../lib/condition.ts'
import { country } from '../../lib/days.ts'
import { useOwnColumns } from '../../lib/own-columns.ts'
import { useAction } from '../../lib/use-action.ts'
import { useChoices } from '../../lib/use-companies.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.heatAndFit.addSign

/** Lists that a sign may name: key of the filter, label, words for a value. */
const LISTS = [
  ['industry', TEXTS.words.fields.industry, String],
  ['category', TEXTS.words.fields.category, String],
  ['country', TEXTS.words.fields.visitsFrom, country],
  ['classification', TEXTS.words.fields.type, String],
  ['tag', TEXTS.words.fields.tag, String],
  ['status', TEXTS.words.fields.status, String],
] as const satisfies readonly (readonly [keyof CompanyChoices, string, (value: string) => string])[]

const OWN = 'own.'
const TEXT = 'text'
const OPERATORS = {
  number: [
    ['>=', texts.operators.atLeast],
    ['<=', texts.operators.atMost],
    ['=', texts.operators.is],
  ],
  date: [
    ['>=', texts.operators.from],
    ['<=', texts.operators.until],
  ],
  text: [
    ['=', texts.operators.is],
    ['~', texts.operators.contains],
  ],
} as const

interface AddSignProps {
  readonly tenant: string
  readonly onAdd: (line: FitLine) => void
}

/** A new sign: what it says of a company, and which companies have it. */
export function AddSign({ tenant, onAdd }: AddSignProps) {
  const [is, setIs] = useState<FitLine['is']>('good')
  const [field, setField] = useState<string>(LISTS[0][0])
  const [values, setValues] = useState<readonly string[]>([])
  const [operator, setOperator] = useState<string>('>=')
  const [typed, setTyped] = useState('')
  const { columns } = useOwnColumns(tenant)
  const choices = useChoices(tenant, {}, undefined)
  const adding = useAction()
  const list = LISTS.find(([key]) => key === field)
  const own = columns.find(({ key }) => field === `${OWN}${key}`)
  const where =
    list !== undefined
      ? anyOf(field, values)
      : own !== undefined
        ? termText({ key: field, operator, value: typed })
        : typed
  const isReady = list !== undefined ? values.length > 0 : typed.trim() !== ''
  const choose = (next: string) => {
    const column = columns.find(({ key }) => next === `${OWN}${key}`)
    setField(next)
    setValues([])
    setTyped('')
    if (column !== undefined) setOperator(OPERATORS[column.type][0][0])
    adding.reset()
  }
  const add = () =>
    adding.run(async () => {
      // The server says what is wrong, and writes it in one spelling.
      const { lines } = await post<FitPreview>(`/api/tenants/${tenant}/fit/preview`, { lines: [{ is, where }] })
      onAdd({ is, where: lines[0]!.where })
      setValues([])
      setTyped('')
    })
  return (
    <Card title={texts.title}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady) add()
        }}
      >
        <Stack gap={3}>
          <Row>
            <Segmented
              label={texts.says}
              value={is}
              options={[
                { value: 'good', label: texts.good },
                { value: 'poor', label: texts.against },
              ]}
              onChange={(value) => setIs(value as FitLine['is'])}
            />
          </Row>
          <Row align="end">
            <Select
              label={texts.by}
              value={field}
              options={[
                ...LISTS.map(([value, label]) => ({ value, label })),
                ...columns.map(({ key, name }) => ({ value: `${OWN}${key}`, label: name, group: texts.yourColumns })),
                { value: TEXT, label: texts.asText, group: texts.other },
              ]}
              onChange={choose}
            />
            {list !== undefined && (
              <Chips>
                <FilterChip
                  key={field}
                  label={texts.anyOf[list[0]]}
                  values={values}
                  options={choices.value?.[list[0]]
                    .filter(({ value }) => value !== '')
                    .map(({ value, companies }) => ({ value, label: list[2](value), count: companies }))}
                  onChange={setValues}
                />
              </Chips>
            )}
            {own !== undefined && <OwnValue {...{ own, operator, typed, setOperator, setTyped }} />}
            {field === TEXT && (
              <Grow>
                <TextInput
                  label={texts.filter}
                  isMono
                  value={typed}
                  maxLength={FIT_LIMITS.whereMaxChars}
                  placeholder="industry=Software,country=DE"
                  autocomplete="off"
                  spellcheck={false}
                  onInput={setTyped}
                />
              </Grow>
            )}
            <Button type="submit" disabled={!isReady || adding.isBusy}>
              {texts.add}
            </Button>
          </Row>
          <FieldError error={adding.error && sentence(adding.error)} />
        </Stack>
      </form>
    </Card>
  )
}

function anyOf(key: string, values: readonly string[]): string {
  return values.map((value) => termText({ key, operator: '=', value })).join()
}

interface OwnValueProps {
  readonly own: OwnColumn
  readonly operator: string
  readonly typed: string
  readonly setOperator: (operator: string) => void
  readonly setTyped: (value: string) => void
}

function OwnValue({ own: { name, type }, operator, typed, setOperator, setTyped }: OwnValueProps) {
  return (
    <>
      <Select
        label={texts.compared}
        isLabelHidden
        value={operator}
        options={OPERATORS[type].map(([value, label]) => ({ value, label }))}
        onChange={setOperator}
      />
      <TextInput
        label={name}
        isLabelHidden
        type={type === 'date' ? 'date' : 'text'}
        value={typed}
        maxLength={200}
        {...(type === 'number' && { inputMode: 'decimal', pattern: '-?[0-9]{1,15}(\\.[0-9]{1,10})?' })}
        onInput={setTyped}
      />
    </>
  )
}
