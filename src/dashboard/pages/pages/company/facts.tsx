import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import type { CompanyAnswer } from '../../../../../schemas/dashboard/company.ts'
import type { CompanyCorrection } from '../../../../../schemas/dashboard/corrections.ts'
import type { OwnColumn } from '../../../../../schemas/facts.ts'
import { CorrectForm } from '../../components/correct-dialog.tsx'
import { OwnForm } from '../../components/own-form.tsx'
import { Badge } from '../../design/badge.tsx'
import { Disclosure, type Fact, Facts } from '../../design/details.tsx'
import { EditInPlace } from '../../design/edit-in-place.tsx'
import { ExternalLink } from '../../design/external-link.tsx'
import { Country } from '../../design/flag.tsx'
import { Text } from '../../design/layout.tsx'
import { Section } from '../../design/page.tsx'
import { sitePath } from '../../lib/company-links.ts'
import { counted } from '../../lib/format.ts'
import { useMay } from '../../lib/may.ts'
import { ownText } from '../../lib/own-columns.ts'

interface FactsProps {
  readonly tenant: string
  /** Undefined: none of its events is shown. */
  readonly answer: CompanyAnswer | undefined
  /** Its id and its name. */
  readonly company: { readonly company_id: string; readonly name: string }
  /** The corrections in force; undefined: none. */
  readonly correction: CompanyCorrection | undefined
  /** Whether the corrections are known. A value that is not known yet cannot be edited. */
  readonly isKnown: boolean
  /** Columns of the tenant's own. */
  readonly columns: readonly OwnColumn[]
  readonly changed: () => void
}

/** What a company is: what was found, and what people wrote, which is edited in place. */
export function CompanyFacts({ tenant, answer, company, correction, isKnown, columns, changed }: FactsProps) {
  const mayChange = useMay('member') && isKnown
  const form = { tenant, companies: [company], correction, changed }
  const text = (task: 'owner' | 'status' | 'note', value = ''): Fact =>
    (mayChange || value !== '') && [
      NAMES[task],
      <Edited
        key={task}
        label={task}
        mayChange={mayChange}
        form={(onClose) => <CorrectForm {...form} task={task} isInPlace onClose={onClose} />}
      >
        {value === '' ? undefined : task === 'status' ? <Badge tone="accent">{value}</Badge> : value}
      </Edited>,
    ]
  const tags = correction?.tags ?? []
  const facts: Fact[] = [
    ...(answer === undefined ? [] : foundFacts(answer)),
    text('owner', correction?.owner),
    text('status', correction?.status),
    (mayChange || tags.length > 0) && [
      'Tags',
      <Edited
        key="tags"
        label="tags"
        mayChange={mayChange}
        form={(onClose) => <CorrectForm {...form} task="tags" isInPlace onClose={onClose} />}
      >
        {tags.length === 0 ? undefined : tags.map((tag) => <Badge key={tag}>{tag}</Badge>)}
      </Edited>,
    ],
    ...columns.map((column): Fact => {
      const value = correction?.own[column.key] ?? ''
      const own = { tenant, company, column, value, changed }
      return (
        (mayChange || value !== '') && [
          column.name,
          <Edited
            key={`own.${column.key}`}
            label={column.name}
            mayChange={mayChange}
            form={(onClose) => <OwnForm {...own} onClose={onClose} />}
          >
            {value === '' ? undefined : ownText(column, value)}
          </Edited>,
        ]
      )
    }),
    text('note', correction?.note),
  ]
  return (
    <Section title="What it is">
      <Facts isTight facts={facts} />
      {mayChange && columns.length === 0 && (
        <Text tone="soft" isSmall>
          <Link href={`/t/${tenant}/companies/import`}>Import a list</Link> to add columns of your own.
        </Text>
      )}
      {answer !== undefined && <MoreFacts {...answer} />}
    </Section>
  )
}

const NAMES = { owner: 'Owner', status: 'Status', note: 'Note' } as const

interface EditedProps {
  readonly label: string
  readonly mayChange: boolean
  readonly form: (onClose: () => void) => ComponentChildren
  readonly children: ComponentChildren
}

/** A value that people of the tenant write. Those who only read it see no control. */
function Edited({ label, mayChange, form, children }: EditedProps) {
  if (!mayChange) return <>{children}</>
  return (
    <EditInPlace label={label} form={form}>
      {children}
    </EditInPlace>
  )
}

function foundFacts({ company }: CompanyAnswer): readonly Fact[] {
  const { domain, industry, industry_category: category, country_code: country } = company
  const site = sitePath(domain)
  return [
    domain !== '' && ['Site', site === undefined ? domain : <ExternalLink href={site}>{domain}</ExternalLink>],
    industry !== '' && ['Industry', industry],
    category !== '' && ['Category', category],
    country !== '' && ['Visits from', <Country key="country" code={country} />],
  ]
}

function MoreFacts({ company, accounts }: CompanyAnswer) {
  const isOwn = accounts.length === 1 && accounts[0]!.value === company.company_id
  return (
    <Disclosure summary="Class, quality and id">
      <Facts
        isTight
        facts={[
          company.classification !== '' && ['Class', company.classification],
          ['Quality', `${company.quality} of 100`],
          ['Id', company.company_id],
          !isOwn && [
            'Accounts',
            accounts.map(({ value, events }) => `${value || 'none'} (${counted(events, 'event')})`).join(', '),
          ],
        ]}
      />
    </Disclosure>
  )
}
