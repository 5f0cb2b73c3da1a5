import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { CreatedKeyAnswer, ListedKey } from '../../../../../schemas/dashboard/keys.ts'
import { Button } from '../../design/button.tsx'
import { CodeLine } from '../../design/code.tsx'
import { Row } from '../../design/layout.tsx'
import { Card } from '../../design/page.tsx'
import { Pulse } from '../../design/pulse.tsx'
import { Time } from '../../design/time.tsx'
import { ingestLine } from '../../lib/ingest-line.ts'
import { useSession } from '../../lib/session.ts'
import { useData } from '../../lib/use-data.ts'

/** The server records a use within a second, so this shows it within two. */
const LOOK_EVERY_MS = 1_000

/** A new key, which is shown only once, with a command that uses it, and whether it has been used. */
export function NewKey({
  tenant,
  created,
  onUsed,
  onDone,
}: {
  readonly tenant: string
  readonly created: CreatedKeyAnswer
  readonly onUsed: () => void
  readonly onDone: () => void
}) {
  const { api_url } = useSession()
  const heading = useRef<HTMLHeadingElement>(null)
  // The button has disappeared. Without this, keyboard focus would move to the top of the page.
  useLayoutEffect(() => heading.current?.focus(), [])
  return (
    <Card isAccent>
      <h3 ref={heading} tabIndex={-1}>
        Your new key
      </h3>
      <p>Copy it now: it is shown only once.</p>
      <CodeLine text={created.key} label="New key" />
      <p>Send an event with it:</p>
      <CodeLine text={ingestLine(api_url, created.key)} label="Command that sends an event" />
      <FirstUse tenant={tenant} prefix={created.prefix} onUsed={onUsed} />
      <Row>
        <Button onClick={onDone}>I have copied it</Button>
      </Row>
    </Card>
  )
}

function FirstUse({
  tenant,
  prefix,
  onUsed,
}: {
  readonly tenant: string
  readonly prefix: string
  readonly onUsed: () => void
}) {
  const [lastUsed, setLastUsed] = useState<string>()
  const path = `/api/tenants/${tenant}/keys/${encodeURIComponent(prefix)}`
  const look = useData<ListedKey>(lastUsed === undefined ? path : undefined, {}, LOOK_EVERY_MS)
  const used = look.value?.last_used ?? undefined
  useEffect(() => {
    if (used === undefined) return
    setLastUsed(used)
    onUsed()
  }, [used, onUsed])
  return (
    <Pulse state={lastUsed === undefined ? 'waiting' : 'good'}>
      {lastUsed === undefined ? (
        'Waiting for your first event…'
      ) : (
        <>
          It works: used <Time at={lastUsed} isAgo />. <Link href={`/t/${tenant}/companies`}>See companies</Link>
        </>
      )}
    </Pulse>
  )
}
