import { useState } from 'preact/hooks'
import type { ListedKey } from '../../../../../schemas/dashboard/keys.ts'
import { prefixCharsOf } from '../../../../../schemas/key-text.ts'
import { Soft } from '../../components/judgement.tsx'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Disclosure } from '../../design/details.tsx'
import { TextInput } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { EmptyState } from '../../design/notice.tsx'
import { Table } from '../../design/table.tsx'
import { Time } from '../../design/time.tsx'
import { number } from '../../lib/format.ts'
import { useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.settings.keyList

/** Hides the search when there are fewer keys. */
const SEARCH_FROM = 10
const SHOWN = 25

export interface KeyListProps {
  readonly tenant: string
  /** A page of keys, newest first. */
  readonly keys: readonly ListedKey[]
  /** Number of keys of the tenant. */
  readonly total: number
  readonly onRevoke: (key: ListedKey) => void
}

/** Active keys, newest first, and revoked keys below. A whole prefix also finds keys of other pages. */
export function KeyList({ tenant, keys, total, onRevoke }: KeyListProps) {
  const [text, setText] = useState('')
  const wanted = text.trim().replace(/(?<!•)•+$/, '')
  const here = keys.filter(({ prefix }) => prefix.includes(wanted))
  const isElsewhere = here.length === 0 && keys.length < total && wanted.length === prefixCharsOf(wanted)
  const path = `/api/tenants/${tenant}/keys/${encodeURIComponent(wanted)}`
  const { value: other } = useData<ListedKey>(isElsewhere ? path : undefined)
  const found = isElsewhere && other?.prefix.startsWith(wanted) ? [other] : here
  const inForce = found.filter(({ revoked_at: at }) => at === null)
  const revoked = found.filter(({ revoked_at: at }) => at !== null)
  return (
    <>
      {keys.length >= SEARCH_FROM && (
        <TextInput
          type="search"
          label={texts.beginning}
          value={text}
          spellcheck={false}
          autocomplete="off"
          // Cut a pasted key to its prefix, so that the field does not show the secret.
          onInput={(typed) => setText(typed.trim().slice(0, prefixCharsOf(typed.trim())))}
        />
      )}
      {inForce.length > 0 ? (
        <KeyTable key={`in force ${wanted}`} label={texts.active} keys={inForce} onRevoke={onRevoke} />
      ) : (
        <EmptyState title={wanted === '' ? texts.none : texts.noneBegins}>
          {wanted === '' && <p>{texts.refused}</p>}
        </EmptyState>
      )}
      {revoked.length > 0 && (
        <Disclosure summary={texts.revokedCount(revoked.length)} isOpen={wanted !== ''}>
          <KeyTable key={`revoked ${wanted}`} label={texts.revokedKeys} keys={revoked} onRevoke={onRevoke} />
        </Disclosure>
      )}
    </>
  )
}

function KeyTable({ label, keys, onRevoke }: Pick<KeyListProps, 'keys' | 'onRevoke'> & { readonly label: string }) {
  const [shown, setShown] = useState(SHOWN)
  return (
    <Stack>
      <Table
        label={label}
        rows={keys.slice(0, shown)}
        keyOf={({ prefix }) => prefix}
        columns={[
          {
            key: 'key',
            label: texts.key,
            render: ({ prefix, test }) => (
              <>
                <code>{prefix}</code> {test && <Badge>{texts.test}</Badge>}
              </>
            ),
          },
          { key: 'created', label: texts.created, render: ({ created_at: at }) => <Time at={at} /> },
          {
            key: 'maker',
            label: texts.madeBy,
            render: ({ made_by: name }) => name ?? <Soft>{texts.notRecorded}</Soft>,
          },
          {
            key: 'used',
            label: texts.lastUsed,
            render: ({ last_used: at }) => (at === null ? <Soft>{texts.never}</Soft> : <Time at={at} isAgo />),
          },
          {
            key: 'state',
            label: TEXTS.words.fields.state,
            inCard: 'plain',
            render: ({ revoked_at: at }) =>
              at === null ? (
                <Badge tone="good">{texts.inForce}</Badge>
              ) : (
                <Soft>{texts.revokedAt(<Time at={at} />)}</Soft>
              ),
          },
          {
            key: 'actions',
            label: TEXTS.words.fields.actions,
            isLabelHidden: true,
            isActions: true,
            render: (key) =>
              key.revoked_at === null && (
                <Button size="s" aria-label={texts.revokeOf(key.prefix)} onClick={() => onRevoke(key)}>
                  {TEXTS.words.buttons.revoke}
                </Button>
              ),
          },
        ]}
      />
      {keys.length > shown && (
        <Row>
          <Button onClick={() => setShown(shown + 4 * SHOWN)}>{TEXTS.words.buttons.showMore}</Button>
          <Text as="span" tone="soft">
            {texts.shown(number(shown), number(keys.length))}
          </Text>
        </Row>
      )}
    </Stack>
  )
}
