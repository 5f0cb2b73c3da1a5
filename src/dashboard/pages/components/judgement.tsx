import { Link } from 'wouter-preact'
import type { Judgement } from '../../../../schemas/live-event.ts'
import { Badge, CategoryBadge } from '../design/badge.tsx'
import { CLASS_COLOURS } from '../design/colours.ts'
import { Flag } from '../design/flag.tsx'
import { Row, Text } from '../design/layout.tsx'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.judgement

/** Labels of statuses. */
export const STATUS_WORDS = {
  ok: texts.status.ok,
  filtered: texts.status.filtered,
  invalid_ip: texts.status.invalid_ip,
} as const
const TONES = { ok: 'good', filtered: 'neutral', invalid_ip: 'bad' } as const

export function StatusBadge({ status }: Pick<Judgement, 'status'>) {
  return <Badge tone={TONES[status]}>{STATUS_WORDS[status]}</Badge>
}

/** A name, with its country and domain. @param href the page of the company */
export function CompanyName({ company, domain, country_code: code, href }: Judgement & { readonly href?: string }) {
  return (
    <Row gap={2} isOneLine>
      {code !== null && <Flag code={code} isAlone />}
      {href === undefined ? <span>{company ?? <Soft>{texts.unknown}</Soft>}</span> : <Link href={href}>{company}</Link>}
      {domain !== null && domain !== company && <Soft>{domain}</Soft>}
    </Row>
  )
}

export function ClassName({ classification }: { readonly classification: string | null }) {
  if (classification === null) return <Soft>{texts.none}</Soft>
  const colour = CLASS_COLOURS[classification]
  return colour === undefined ? (
    <Badge>{classification}</Badge>
  ) : (
    <CategoryBadge colour={colour}>{classification}</CategoryBadge>
  )
}

/** Less important text. */
export function Soft({ children }: { readonly children: preact.ComponentChildren }) {
  return (
    <Text as="span" tone="soft">
      {children}
    </Text>
  )
}
