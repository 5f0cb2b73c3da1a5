import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import type { CompanyAnswer } from '../../../../../schemas/dashboard/company.ts'
import type { CompanyCorrection } from '../../../../../schemas/dashboard/corrections.ts'
import type { OwnColumn } from '../../../../../schemas/facts.ts'
import { CorrectForm } from '../../components/correct-dialog.tsx'
import { OwnValueForm } from '../../components/own-value-form.tsx'
import { Badge } from '../../design/badge.tsx'
import { Disclosure, type Fact, Facts } from '../../design/details.tsx'
import { EditInPlace } from '../../design/edit-in-place.tsx'
import { ExternalLink } from '../../design/external-link.tsx'
import { Country } from '../../design/flag.tsx'
import { Stack, Text } from '../../design/layout.tsx'
import { Section } from '../../design/page.tsx'
import { Time } from '../../design/time.tsx'
import { companiesPath, siteUrl } from '../../lib/company-links.ts'
import { capitalised } from '../../lib/format.ts'
import { useMay } from '../../lib/may.ts'
import { ownText } from '../../lib/own-words.ts'
import { sourceText, type Touches } from '../../lib/touches.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.company.facts

interface FactsProps {
  readonly tenant: string
  /** Undefined: none of its events is shown. */
  readonly answer: CompanyAnswer | undefined
  /** Undefined: not known yet. */
  readonly touches: Touches | undefined
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
export function CompanyFacts(props: FactsProps) {
  const { tenant, answer, touches, company, correction, isKnown, columns, changed } = props
  const mayChange = useMay('member') && isKnown
  const form = { tenant, companies: [company], correction, changed }
  /** A value that people of the tenant write. Those who only read it see no control. */
  const edited = (
    label: string,
    value: ComponentChildren,
    formOf: (onClose: () => void) => ComponentChildren,
    name = label,
  ): Fact =>
    mayChange
      ? [
          name,
          <EditInPlace key={name} label={label} form={formOf}>
            {value}
          </EditInPlace>,
        ]
      : value !== undefined && [name, value]
  const corrected = (task: 'owner' | 'status' | 'tags' | 'note', value: ComponentChildren) =>
    edited(
      texts.fields[task],
      value,
      (onClose) => <CorrectForm {...form} task={task} isInPlace onClose={onClose} />,
      TEXTS.words.fields[task],
    )
  const { owner, status, tags, note, own } = correction ?? NOTHING
  const facts: Fact[] = [
    ...(answer === undefined ? [] : [...foundFacts(answer), ...touchFacts(tenant, touches)]),
    corrected('owner', owner || undefined),
    corrected('status', status === '' ? undefined : <Badge tone="accent">{status}</Badge>),
    corrected('tags', tags.length === 0 ? undefined : tags.map((tag) => <Badge key={tag}>{tag}</Badge>)),
    ...columns.map((column) => {
      const value = own[column.key] ?? ''
      const of = { tenant, company, column, value, changed }
      return edited(column.name, value === '' ? undefined : ownText(column, value), (onClose) => (
        <OwnValueForm {...of} onClose={onClose} />
      ))
    }),
    corrected('note', note || undefined),
  ]
  return (
    <Section title={texts.title}>
      <Facts isTight facts={facts} />
      {mayChange && columns.length === 0 && (
        <Text tone="soft" isSmall>
          {texts.import((text) => (
            <Link href={`/t/${tenant}/companies/import`}>{text}</Link>
          ))}
        </Text>
      )}
      {answer !== undefined && <MoreFacts {...answer} />}
    </Section>
  )
}

/** What people wrote about a company that has no corrections. */
const NOTHING: Pick<CompanyCorrection, 'owner' | 'status' | 'tags' | 'note' | 'own'> = {
  owner: '',
  status: '',
  tags: [],
  note: '',
  own: {},
}

function foundFacts({ company }: CompanyAnswer): readonly Fact[] {
  const { domain, industry, industry_category: category, country_code: country } = company
  const site = siteUrl(domain)
  return [
    domain !== '' && [texts.site, site === undefined ? domain : <ExternalLink href={site}>{domain}</ExternalLink>],
    industry !== '' && [TEXTS.words.fields.industry, industry],
    category !== '' && [TEXTS.words.fields.category, category],
    country !== '' && [TEXTS.words.fields.visitsFrom, <Country key="country" code={country} />],
  ]
}

/** Where it came from: at first, and most recently. */
function touchFacts(tenant: string, touches: Touches | undefined): readonly Fact[] {
  return (['first', 'last'] as const).map((end): Fact => {
    const name = texts.touch[end]
    if (touches === undefined) return [name, '…']
    const touch = touches[`${end}_touch`]
    if (touch === null) return false
    const origin = [sourceText(touch), touch.campaign].filter((part) => part !== '').join(', ')
    return [
      name,
      <Stack key={end} gap={1}>
        <Link href={companiesPath(tenant, { touch: { by: `${end}_channel`, value: touch.channel } })}>
          {capitalised(touch.channel)}
        </Link>
        {origin !== '' && (
          <Text as="span" tone="soft" isSmall>
            {origin}
          </Text>
        )}
        <Text as="span" tone="soft" isSmall>
          <Time at={touch.at} />
        </Text>
      </Stack>,
    ]
  })
}

function MoreFacts({ company, accounts }: CompanyAnswer) {
  const isOwn = accounts.length === 1 && accounts[0]!.value === company.company_id
  return (
    <Disclosure summary={texts.more}>
      <Facts
        isTight
        facts={[
          company.classification !== '' && [TEXTS.words.fields.type, company.classification],
          [TEXTS.words.fields.quality, texts.ofHundred(company.quality)],
          [texts.id, company.company_id],
          !isOwn && [texts.accounts, accounts.map(({ value, events }) => texts.account(value, events)).join(', ')],
        ]}
      />
    </Disclosure>
  )
}
