import { KeyRound, Plus } from 'lucide-preact'
import { useState } from 'preact/hooks'
import type { CreatedKeyAnswer, KeysAnswer, ListedKey } from '../../../../../schemas/dashboard/keys.ts'
import { Button } from '../../design/button.tsx'
import { FieldError } from '../../design/field.tsx'
import { Row, Text } from '../../design/layout.tsx'
import { EmptyState, Problem } from '../../design/notice.tsx'
import { Section } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { post } from '../../lib/api.ts'
import { number } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { KeyList, type KeyListProps } from './key-list.tsx'
import { NewKey } from './new-key.tsx'
import { RevokeKey } from './revoke-key.tsx'

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
  const generate = () =>
    generating.run(async () => {
      setCreated(await post<CreatedKeyAnswer>(path))
      setPages([])
      list.reload()
    })
  return (
    <Section
      title="API keys"
      description="A key sends events and asks the API, for this tenant only."
      actions={
        <Button icon={Plus} disabled={generating.isBusy} onClick={generate}>
          Generate key
        </Button>
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
    <EmptyState icon={KeyRound} title="There is no key yet">
      <p>Every request needs a key. Generate the first one with the button above. It comes with a command to try it.</p>
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
        Newer keys
      </Button>
      <Button disabled={next === null} onClick={() => next !== null && onPages([...pages, next])}>
        Older keys
      </Button>
      <Text as="span" tone="soft">
        {number(first)} to {number(first + keys.length - 1)} of {number(total)} keys
      </Text>
    </Row>
  )
}

interface PagesProps {
  readonly answer: KeysAnswer
  readonly pages: readonly number[]
  readonly onPages: (pages: readonly number[]) => void
}
