import { Link } from 'wouter-preact'
import type { FirstSteps } from '../../../../../schemas/dashboard/first-steps.ts'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { sentence } from '../../design/notice.tsx'
import { Pulse } from '../../design/pulse.tsx'
import { seenOf } from '../../lib/seen.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.firstSteps.verify

/** Waits for the first page view. Says what was seen of it and what ipid made of it, also when it was left out. */
export function Verify({ tenant, answer }: { readonly tenant: string; readonly answer: FirstSteps }) {
  const { website, seen } = answer
  if (seen !== null) {
    const { text, next } = seenOf(seen)
    return (
      <Stack gap={2}>
        <Pulse state={seen.status === 'invalid_ip' ? 'bad' : 'good'}>{text}</Pulse>
        {next !== undefined && <Text tone="soft">{next}</Text>}
        <Row>
          <Link href={`/t/${tenant}/live`}>{texts.watch}</Link>
        </Row>
      </Stack>
    )
  }
  if (website?.has_events) {
    const { filtered_all: filtered } = website
    return <Pulse state="good">{filtered === null ? texts.arrive : sentence(texts.firstWas(filtered))}</Pulse>
  }
  if (website === null) return <Text tone="soft">{texts.connectFirst}</Text>
  return (
    <Stack gap={2}>
      <Pulse state="waiting">{texts.waiting}</Pulse>
      <Text tone="soft" isMeasured>
        {texts.openPage}
      </Text>
    </Stack>
  )
}
