import { useEffect, useRef } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { CreatedSourceAnswer, ListedSource } from '../../../../../schemas/dashboard/sources.ts'
import { Button } from '../../design/button.tsx'
import { CodeBlock, CodeLine } from '../../design/code.tsx'
import { Row } from '../../design/layout.tsx'
import { Card } from '../../design/page.tsx'
import { Pulse } from '../../design/pulse.tsx'
import { Time } from '../../design/time.tsx'
import { Findings } from './findings.tsx'

/** A new source: its key and the text to paste, which are shown only once, and whether an event has arrived. */
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
  const heading = useRef<HTMLHeadingElement>(null)
  // The form has disappeared. Without this, keyboard focus would move to the top of the page.
  useEffect(() => heading.current?.focus(), [])
  return (
    <Card isAccent>
      <h2 ref={heading} tabIndex={-1}>
        Your new source
      </h2>
      <p>Paste this where your events are made. Copy it now: the key is shown only once.</p>
      <CodeBlock text={created.setup} label="Text to paste" />
      <p>Its key, which can send events to this source and nothing else:</p>
      <CodeLine text={created.key} label="New key" />
      <FirstEvent tenant={tenant} source={source} />
      <Row>
        <Button onClick={onDone}>I have copied it</Button>
      </Row>
    </Card>
  )
}

function FirstEvent({ tenant, source }: { readonly tenant: string; readonly source: ListedSource | undefined }) {
  const { today, last_used = null, findings = [] } = source ?? {}
  const isReceived = (today?.received ?? 0) > 0
  return (
    <>
      <Pulse state={isReceived ? 'good' : 'waiting'}>
        {isReceived ? (
          <>
            First event received. <Link href={`/t/${tenant}/live`}>Watch events arrive</Link>
          </>
        ) : last_used === null ? (
          'Waiting for the first event…'
        ) : (
          <>
            Its key was used <Time at={last_used} isAgo />. Waiting for the first event…
          </>
        )}
      </Pulse>
      {isReceived && findings.length > 0 && <Findings findings={findings} />}
    </>
  )
}
