import { KeyRound, Plus } from 'lucide-preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { CreatedKeyAnswer, KeysAnswer, ListedKey } from '../../../../../schemas/dashboard/keys.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Button } from '../../design/button.tsx'
import { CodeLine } from '../../design/code.tsx'
import { FieldError } from '../../design/field.tsx'
import { Row, Text } from '../../design/layout.tsx'
import { EmptyState, Problem } from '../../design/notice.tsx'
import { Card, Section } from '../../design/page.tsx'
import { Pulse } from '../../design/pulse.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { Time } from '../../design/time.tsx'
import { post } from '../../lib/api.ts'
import { number } from '../../lib/format.ts'
import { ingestLine } from '../../lib/ingest-line.ts'
import { useSession } from '../../lib/session.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'
import { KeyList, type KeyListProps } from './key-list.tsx'

const texts = TEXTS.settings.keys

/** The server records a use within a second, so the list shows it within two. */
const EVERY_MS = 1_000

/** The API keys of a tenant. */
export function Keys({ tenant }: { readonly tenant: string }) {
  const path = `/api/tenants/${tenant}/keys`
  /** Start of each page after the newest one. */
  const [pages, setPages] = useState<readonly number[]>([])
  const before = pages.at(-1)
  const list = useData<KeysAnswer>(path, before === undefined ? {} : { before: String(before) }, EVERY_MS)
  const [created, setCreated] = useState<CreatedKeyAnswer>()
  const [revoking, setRevoking] = useState<ListedKey>()
  const generating = useAction()
  const generate = (test: boolean) =>
    generating.run(async () => {
      setCreated(await post<CreatedKeyAnswer>(path, { test }))
      setPages([])
      list.reload()
    })
  return (
    <Section
      title={texts.title}
      description={texts.about}
      actions={
        <Row>
          <Button disabled={generating.isBusy} onClick={() => generate(true)}>
            {texts.generateTest}
          </Button>
          <Button icon={Plus} disabled={generating.isBusy} onClick={() => generate(false)}>
            {texts.generate}
          </Button>
        </Row>
      }
    >
      <FieldError error={generating.error} />
      {created !== undefined && (
        <NewKey
          key={created.prefix}
          tenant={tenant}
          created={created}
          onUsed={list.reload}
          onDone={() => setCreated(undefined)}
        />
      )}
      {list.value === undefined ? (
        list.error === undefined ? (
          <Loading rows={3} />
        ) : (
          <Problem error={list.error} onRetry={list.reload} />
        )
      ) : (
        <>
          <KeyTable
            tenant={tenant}
            keys={list.value.keys}
            total={list.value.total}
            isNew={created !== undefined}
            onRevoke={setRevoking}
          />
          {list.value.keys.length < list.value.total && <Pages answer={list.value} pages={pages} onPages={setPages} />}
        </>
      )}
      {revoking !== undefined && (
        <RevokeKey
          tenant={tenant}
          revoking={revoking}
          onClose={() => setRevoking(undefined)}
          onRevoked={(key) => {
            setRevoking(undefined)
            if (created?.prefix === key.prefix) setCreated(undefined)
            list.reload()
          }}
        />
      )}
    </Section>
  )
}

function KeyTable({ isNew, ...list }: KeyTableProps) {
  if (list.keys.length > 0) return <KeyList {...list} />
  if (isNew) return null
  return (
    <EmptyState icon={KeyRound} title={texts.none}>
      <p>{texts.aboutNone}</p>
    </EmptyState>
  )
}

interface KeyTableProps extends KeyListProps {
  readonly isNew: boolean
}

/** Pages through the keys. */
function Pages({ answer, pages, onPages }: PagesProps) {
  const { keys, total, next } = answer
  const first = total - (pages.at(-1) ?? total) + 1
  return (
    <Row>
      <Button disabled={pages.length === 0} onClick={() => onPages(pages.slice(0, -1))}>
        {texts.newer}
      </Button>
      <Button disabled={next === null} onClick={() => next !== null && onPages([...pages, next])}>
        {texts.older}
      </Button>
      <Text as="span" tone="soft">
        {texts.range(number(first), number(first + keys.length - 1), number(total))}
      </Text>
    </Row>
  )
}

interface PagesProps {
  readonly answer: KeysAnswer
  readonly pages: readonly number[]
  readonly onPages: (pages: readonly number[]) => void
}

/** Confirms the revocation of a key, and explains its effect. */
function RevokeKey({
  tenant,
  revoking,
  onClose,
  onRevoked,
}: {
  readonly tenant: string
  readonly revoking: ListedKey
  readonly onClose: () => void
  readonly onRevoked: (key: ListedKey) => void
}) {
  const revoke = async () => {
    onRevoked(await post<ListedKey>(`/api/tenants/${tenant}/keys/revoke`, { prefix: revoking.prefix }))
  }
  return (
    <ConfirmDialog title={texts.revokeTitle} confirm={texts.revoke} onConfirm={revoke} onClose={onClose}>
      <p>
        <code>{revoking.prefix}</code>
      </p>
      {revoking.last_used === null ? (
        <p>{texts.neverUsed}</p>
      ) : (
        <p>{texts.lastUsed(<Time at={revoking.last_used} isAgo />)}</p>
      )}
      <p>{texts.final}</p>
    </ConfirmDialog>
  )
}

/** The server records a use within a second, so this shows it within two. */
const LOOK_EVERY_MS = 1_000

/** A new key, which is shown only once, with a command that uses it, and whether it has been used. */
function NewKey({
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
        {created.test ? texts.newTest : texts.new}
      </h3>
      <p>{texts.copyNow}</p>
      {created.test && <p>{texts.aboutTest}</p>}
      <CodeLine text={created.key} label={texts.newKey} />
      <p>{texts.sendEvent}</p>
      <CodeLine text={ingestLine(api_url, created.key)} label={texts.command} />
      <FirstUse tenant={tenant} created={created} onUsed={onUsed} />
      <Row>
        <Button onClick={onDone}>{texts.copied}</Button>
      </Row>
    </Card>
  )
}

function FirstUse({
  tenant,
  created: { prefix, test },
  onUsed,
}: {
  readonly tenant: string
  readonly created: CreatedKeyAnswer
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
      {lastUsed === undefined
        ? texts.waiting
        : test
          ? texts.testWorks(<Time at={lastUsed} isAgo />)
          : texts.works(<Time at={lastUsed} isAgo />, (text) => <Link href={`/t/${tenant}/companies`}>{text}</Link>)}
    </Pulse>
  )
}
