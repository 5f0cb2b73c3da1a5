import type { MadeAnswer } from '../../../../../schemas/dashboard/people.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Problem } from '../../design/notice.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { Table } from '../../design/table.tsx'
import { Time } from '../../design/time.tsx'
import { post } from '../../lib/api.ts'
import { counted } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'

/** Something that a maker made, and the call that ends it. */
interface MadeThing {
  readonly id: string
  readonly what: string
  readonly name: string
  readonly madeAt: string
  /** Undefined: its use is not recorded. Null: never. */
  readonly lastUsed: string | null | undefined
  readonly verb: 'Revoke' | 'Remove'
  /** Path below the tenant, and body, of the call that ends it. */
  readonly path: string
  readonly body: Readonly<Record<string, string>>
}

interface MadeProps {
  readonly tenant: string
  /** Maker id of a person, or of a session without one. */
  readonly maker: string
  readonly title: string
  readonly onChanged: () => void
  readonly onClose: () => void
}

/** Records of a removed user that still work, with a button to end each. */
export function Made({ tenant, maker, title, onChanged, onClose }: MadeProps) {
  const path = `/api/tenants/${tenant}`
  const made = useData<MadeAnswer>(`${path}/people/made`, { maker })
  const ending = useAction()
  const end = (things: readonly MadeThing[]) =>
    ending.run(async () => {
      try {
        for (const thing of things) await post(`${path}/${thing.path}`, thing.body)
      } finally {
        made.reload()
        onChanged()
      }
    })
  const things = made.value && thingsOf(made.value)
  return (
    <Dialog title={title} isWide onClose={onClose} actions={<Button onClick={onClose}>Done</Button>}>
      <Stack>
        {made.error !== undefined && <Problem error={made.error} onRetry={made.reload} />}
        {things === undefined && made.error === undefined && <Loading rows={3} />}
        {things?.length === 0 && <Text>Nothing that they made here works any more.</Text>}
        {things !== undefined && things.length > 0 && (
          <>
            <Text>They made these, and all of them still work. End those that your team does not need.</Text>
            <Table
              label="Still works"
              rows={things}
              keyOf={({ id }) => id}
              columns={[
                { key: 'what', label: 'Kind', render: ({ what }) => what },
                { key: 'name', label: 'Name', text: 'wrap', render: ({ name }) => name },
                { key: 'made', label: 'Made', render: ({ madeAt }) => <Time at={madeAt} /> },
                {
                  key: 'used',
                  label: 'Last used',
                  render: ({ lastUsed }) =>
                    lastUsed === undefined ? null : lastUsed === null ? 'never' : <Time at={lastUsed} isAgo />,
                },
                {
                  key: 'actions',
                  label: 'Actions',
                  isLabelHidden: true,
                  isActions: true,
                  render: (thing) => (
                    <Button
                      size="s"
                      variant="danger"
                      disabled={ending.isBusy}
                      aria-label={`${thing.verb} ${thing.name}`}
                      onClick={() => end([thing])}
                    >
                      {thing.verb}
                    </Button>
                  ),
                },
              ]}
            />
            {things.length > 1 && (
              <Row>
                <Button variant="danger" disabled={ending.isBusy} onClick={() => end(things)}>
                  End all {things.length}
                </Button>
              </Row>
            )}
          </>
        )}
        {made.value !== undefined && <Unknown {...made.value.unknown} />}
        <FieldError error={ending.error} />
      </Stack>
    </Dialog>
  )
}

function Unknown({ keys, sources, alerts, links }: MadeAnswer['unknown']) {
  const parts = [
    keys > 0 && counted(keys, 'API key'),
    sources > 0 && counted(sources, 'source'),
    alerts > 0 && counted(alerts, 'alert'),
    links > 0 && `${counted(links, 'open invitation')} without a name`,
  ].filter((part) => part !== false)
  if (parts.length === 0) return null
  return (
    <Text tone="soft" isSmall>
      Without a known maker: {parts.join(', ')}. They were made on the command line, or before ipid recorded makers.
      Look at them in Settings, Sources, Alerts and in the list of people.
    </Text>
  )
}

function thingsOf({ keys, sources, alerts, people, shared_links }: MadeAnswer): MadeThing[] {
  return [
    ...keys.map(({ prefix, created_at, last_used }) => ({
      ...{ id: prefix, what: 'API key', name: prefix, madeAt: created_at, lastUsed: last_used },
      ...{ verb: 'Revoke' as const, path: 'keys/revoke', body: { prefix } },
    })),
    ...sources.map(({ source_id, kind, name, created_at, last_used }) => ({
      ...{ id: source_id, what: `Source, ${kind}`, name: name ?? source_id, madeAt: created_at, lastUsed: last_used },
      ...{ verb: 'Revoke' as const, path: 'sources/revoke', body: { source_id } },
    })),
    ...alerts.map(({ alert_id, name, target, created_at }) => ({
      ...{ id: alert_id, what: 'Alert', name: `${name}, to ${target}`, madeAt: created_at, lastUsed: undefined },
      ...{ verb: 'Remove' as const, path: 'alerts/remove', body: { alert_id } },
    })),
    ...shared_links.map(({ id, name, created_at, last_used }) => ({
      ...{ id, what: 'Shared link', name, madeAt: created_at, lastUsed: last_used },
      ...{ verb: 'Revoke' as const, path: 'shared-links/revoke', body: { id } },
    })),
    ...people.map(({ id, name, added_at }) => ({
      ...{ id, what: 'Person', name, madeAt: added_at, lastUsed: undefined },
      ...{ verb: 'Remove' as const, path: 'people/remove', body: { person: id } },
    })),
  ]
}
