import type { LucideIcon } from 'lucide-preact'
import { Link } from 'wouter-preact'
import { LinkButton } from '../design/button.tsx'
import { CodeLine } from '../design/code.tsx'
import { Disclosure } from '../design/details.tsx'
import { Row, Stack, Text } from '../design/layout.tsx'
import { EmptyState } from '../design/notice.tsx'
import { ingestLine } from '../lib/ingest-line.ts'
import { useMay } from '../lib/may.ts'
import { useSession } from '../lib/session.ts'
import { TEXTS } from '../texts/texts.ts'
import { SampleButton } from './sample-data.tsx'

const texts = TEXTS.components.dayZero

interface DayZeroProps {
  readonly tenant: string
  readonly icon: LucideIcon
  /** Says what the page will show. */
  readonly title: string
  readonly about: string
}

/** A page of a workspace that has no event yet: what comes here, and the next step of this person. */
export function DayZero({ tenant, icon, title, about }: DayZeroProps) {
  const { sample } = useSession()
  const isAdmin = useMay('admin')
  if (tenant === sample) {
    return (
      <EmptyState icon={icon} title={texts.making}>
        <p>{texts.someSeconds}</p>
      </EmptyState>
    )
  }
  return (
    <EmptyState icon={icon} title={title}>
      <p>{about}</p>
      {!isAdmin && <p>{texts.adminConnects}</p>}
      <Row gap={2}>
        {isAdmin && (
          <LinkButton href={`/t/${tenant}/home`} variant="primary">
            {texts.connect}
          </LinkButton>
        )}
        <SampleButton tenant={tenant} />
      </Row>
      {isAdmin && <SendEvent tenant={tenant} />}
    </EmptyState>
  )
}

/** For developers: an event without a website. */
function SendEvent({ tenant }: { readonly tenant: string }) {
  const { api_url } = useSession()
  return (
    <Disclosure summary={texts.sendEvent}>
      <Stack gap={2}>
        <Text tone="soft" isSmall>
          {texts.withKey((text) => (
            <Link href={`/t/${tenant}/settings/keys`}>{text}</Link>
          ))}
        </Text>
        <CodeLine text={ingestLine(api_url, 'YOUR_KEY')} label={texts.command} />
      </Stack>
    </Disclosure>
  )
}
