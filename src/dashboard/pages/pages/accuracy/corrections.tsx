import { Link } from 'wouter-preact'
import {
  CORRECTION_KINDS,
  type CorrectionKind,
  type Corrections as CorrectionsAnswer,
} from '../../../../../schemas/data-corrections.ts'
import { Soft } from '../../components/judgement.tsx'
import { Text } from '../../design/layout.tsx'
import { Problem } from '../../design/notice.tsx'
import { Section } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { Table } from '../../design/table.tsx'
import { companyPath } from '../../lib/company-links.ts'
import { number } from '../../lib/format.ts'
import { useUrlState } from '../../lib/url-state.ts'
import { useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.accuracy.corrections

/** Corrections that are shown of one data set and kind. */
const SHOWN_MAX = 100

/** What people corrected, by the data set that had given the corrected answer. */
export function Corrections({ tenant, days }: { readonly tenant: string; readonly days: string }) {
  const { value, error, reload } = useData<CorrectionsAnswer>(`/api/tenants/${tenant}/accuracy/corrections`, { days })
  return (
    <Section title={texts.title} description={texts.about((text) => <code>{text}</code>)}>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined ? (
        error === undefined && <Loading rows={3} />
      ) : value.corrections.length === 0 ? (
        <Text tone="soft">{texts.none}</Text>
      ) : (
        <Counts tenant={tenant} days={days} answer={value} />
      )}
    </Section>
  )
}

interface CountsProps {
  readonly tenant: string
  readonly days: string
  readonly answer: CorrectionsAnswer
}

function Counts({ tenant, days, answer }: CountsProps) {
  const [state] = useUrlState()
  const { data_sets: sets, companies, companies_read: read, corrections, left_out: leftOut } = answer
  const kinds = CORRECTION_KINDS.filter((kind) => sets.some((set) => set.kinds[kind] > 0))
  const [set, kind] = [state.get('set'), kinds.find((name) => name === state.get('kind'))]
  const pathOf = (name: string, of: CorrectionKind) =>
    `/t/${tenant}/accuracy?${new URLSearchParams({ days, set: name, kind: of })}`
  return (
    <>
      <Table
        label={texts.label}
        rows={sets}
        keyOf={({ name }) => name}
        columns={[
          { key: 'name', label: texts.dataSet, width: 180, render: ({ name }) => name },
          {
            key: 'companies',
            label: texts.names,
            isNumber: true,
            render: ({ companies: named }) => number(named),
          },
          ...kinds.map((of) => ({
            key: of,
            label: texts.kinds[of],
            isNumber: true as const,
            render: ({ name, kinds: counts }: (typeof sets)[number]) =>
              counts[of] === 0 ? (
                <Soft>0</Soft>
              ) : (
                <Link href={pathOf(name, of)} aria-label={texts.countOf(counts[of], name, texts.kinds[of])}>
                  {number(counts[of])}
                </Link>
              ),
          })),
        ]}
      />
      <Text tone="soft" isSmall>
        {(read < companies ? texts.namesSome : texts.namesAll)(read, companies, days)}
        {leftOut > 0 && texts.notCounted(leftOut)}
      </Text>
      {set !== null && kind !== undefined && (
        <Listed tenant={tenant} set={set} kind={kind} corrections={corrections} key={`${set} ${kind}`} />
      )}
    </>
  )
}

interface ListedProps {
  readonly tenant: string
  readonly set: string
  readonly kind: CorrectionKind
  readonly corrections: CorrectionsAnswer['corrections']
}

/** The corrections of one data set and kind. */
function Listed({ tenant, set, kind, corrections }: ListedProps) {
  const found = corrections.filter((made) => made.data_set === set && made.kind === kind)
  const title = texts.titleOf(texts.kinds[kind], set)
  return (
    <>
      <Table
        label={title}
        rows={found.slice(0, SHOWN_MAX)}
        keyOf={({ rule, company_id }) => `${rule} ${company_id}`}
        columns={[
          {
            key: 'company',
            label: title,
            render: ({ company_id: id }) =>
              id === '' ? <Soft>{texts.noCompany}</Soft> : <Link href={companyPath(tenant, id)}>{id}</Link>,
          },
          {
            key: 'correction',
            label: texts.correction,
            render: ({ rule }) =>
              rule === '' ? (
                texts.ofCompany
              ) : (
                <Link href={`/t/${tenant}/settings/rules`}>
                  <code>{rule}</code>
                </Link>
              ),
          },
        ]}
      />
      {found.length > SHOWN_MAX && (
        <Text tone="soft" isSmall>
          {texts.first(number(SHOWN_MAX), number(found.length))}
        </Text>
      )}
    </>
  )
}
