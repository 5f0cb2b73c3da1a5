import { useLayoutEffect, useRef } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { CreatedSourceAnswer, ListedSource } from '../../../../../schemas/dashboard/sources.ts'
import { Button } from '../../design/button.tsx'
import { CodeLine } from '../../design/code.tsx'
import { Row, Stack } from '../../design/layout.tsx'
import { Card } from '../../design/page.tsx'
import { Pulse } from '../../design/pulse.tsx'
import { Time } from '../../design/time.tsx'
import { TEXTS } from '../../texts/texts.ts'
import { Findings } from './findings.tsx'
import { BrowserKey, SetupBlocks } from './setup.tsx'

const texts = TEXTS.sources.new

/** A new source: its keys, of which the server key is shown only once, what to paste, and whether an event has arrived. */
export function NewSource({
  tenant,
  created,
  source,
  onDone,
}: {
  readonly tenant: string
  readonly created: CreatedSourceAnswer
  /** The same source as the list has it; undefined until the list is read again. */
  readonly source: ListedSource | undefined
  readonly onDone: () => void
}) {
  const isSecret = created.key !== created.browser_key
  const heading = useRef<HTMLHeadingElement>(null)
  // The form has disappeared. Without this, keyboard focus would move to the top of the page.
  useLayoutEffect(() => heading.current?.focus(), [])
  return (
    <Card isAccent>
      <h2 ref={heading} tabIndex={-1}>
        {texts.title}
      </h2>
      <p>{isSecret ? texts.copyNow : texts.paste}</p>
      {isSecret && (
        <Stack gap={2}>
          <h3>{texts.serverKey}</h3>
          <CodeLine text={created.key} label={texts.serverKey} />
        </Stack>
      )}
      <SetupBlocks setup={created.setup} />
      {created.browser_key !== null && <BrowserKey value={created.browser_key} />}
      <FirstEvent tenant={tenant} source={source} />
      <Row>
        <Button onClick={onDone}>{isSecret ? texts.copied : TEXTS.words.buttons.done}</Button>
      </Row>
    </Card>
  )
}

function FirstEvent({ tenant, source }: { readonly tenant: string; readonly source: ListedSource | undefined }) {
  const { today, last_used = null, findings = [], filtered_all: filtered = null } = source ?? {}
  const isReceived = (today?.received ?? 0) > 0
  return (
    <>
      <Pulse state={isReceived ? 'good' : 'waiting'}>
        {isReceived
          ? texts.first(filtered ?? texts.received, (text) => <Link href={`/t/${tenant}/live`}>{text}</Link>)
          : last_used === null
            ? texts.waiting
            : texts.keyUsed(<Time at={last_used} isAgo />)}
      </Pulse>
      {isReceived && findings.length > 0 && <Findings findings={findings} />}
    </>
  )
}
