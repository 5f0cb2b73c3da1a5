import { useEffect, useRef } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { CreatedSourceAnswer, ListedSource } from '../../../../../schemas/dashboard/sources.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { CodeLine } from '../../components/code-line.tsx'
import { Time } from '../../components/time.tsx'
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
    <section class="card new-key" aria-labelledby="new-source-heading">
      <h2 id="new-source-heading" ref={heading} tabIndex={-1}>
        Your new source
      </h2>
      <p>Paste this where your events are made. Copy it now: the key is shown only once.</p>
      <CodeBlock text={created.setup} label="Text to paste" />
      <p>Its key, which can send events to this source and nothing else:</p>
      <CodeLine text={created.key} label="New key" />
      <FirstEvent tenant={tenant} source={source} />
      <button type="button" onClick={onDone}>
        I have copied it
      </button>
    </section>
  )
}

function FirstEvent({ tenant, source }: { readonly tenant: string; readonly source: ListedSource | undefined }) {
  const { today, last_used = null, findings = [] } = source ?? {}
  const isReceived = (today?.received ?? 0) > 0
  return (
    <>
      <div role="status" class={isReceived ? 'first-use used' : 'first-use'}>
        {isReceived ? (
          <span>
            First event received. <Link href={`/t/${tenant}/live`}>Watch events arrive</Link>
          </span>
        ) : last_used === null ? (
          'Waiting for the first event…'
        ) : (
          <span>
            Its key was used <Time at={last_used} isAgo />. Waiting for the first event…
          </span>
        )}
      </div>
      {isReceived && <Findings findings={findings} />}
    </>
  )
}
