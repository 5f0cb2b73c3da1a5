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
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.people.made

/** Something that a maker made, and the call that ends it. */
interface MadeThing {
  readonly id: string
  readonly what: string
  readonly name: string
  readonly madeAt: string
  /** Undefined: its use is not recorded. Null: never. */
  readonly lastUsed: string | null | undefined
  readonly verb: 'revoke' | 'remove'
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
    <Dialog
      title={title}
      isWide
      onClose={onClose}
      actions={<Button onClick={onClose}>{TEXTS.words.buttons.done}</Button>}
    >
      <Stack>
        {made.error !== undefined && <Problem error={made.error} onRetry={made.reload} />}
        {things === undefined && made.error === undefined && <Loading rows={3} />}
        {things?.length === 0 && <Text>{texts.none}</Text>}
        {things !== undefined && things.length > 0 && (
          <>
            <Text>{texts.about}</Text>
            <Table
              label={texts.label}
              rows={things}
              keyOf={({ id }) => id}
              columns={[
                { key: 'what', label: texts.kind, render: ({ what }) => what },
                { key: 'name', label: texts.name, text: 'wrap', render: ({ name }) => name },
                { key: 'made', label: texts.made, render: ({ madeAt }) => <Time at={madeAt} /> },
                {
                  key: 'used',
                  label: texts.lastUsed,
                  render: ({ lastUsed }) =>
                    lastUsed === undefined ? null : lastUsed === null ? texts.never : <Time at={lastUsed} isAgo />,
                },
                {
                  key: 'actions',
                  label: TEXTS.words.fields.actions,
                  isLabelHidden: true,
                  isActions: true,
                  render: (thing) => (
                    <Button
                      size="s"
                      variant="danger"
                      disabled={ending.isBusy}
                      aria-label={texts.endOf[thing.verb](thing.name)}
                      onClick={() => end([thing])}
                    >
                      {TEXTS.words.buttons[thing.verb]}
                    </Button>
                  ),
                },
              ]}
            />
            {things.length > 1 && (
              <Row>
                <Button variant="danger" disabled={ending.isBusy} onClick={() => end(things)}>
                  {texts.endAll(things.length)}
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
    keys > 0 && texts.keys(keys),
    sources > 0 && texts.sources(sources),
    alerts > 0 && texts.alerts(alerts),
    links > 0 && texts.invitations(links),
  ].filter((part) => part !== false)
  if (parts.length === 0) return null
  return (
    <Text tone="soft" isSmall>
      {texts.unknown(parts)}
    </Text>
  )
}

function thingsOf({ keys, sources, alerts, people, shared_links }: MadeAnswer): MadeThing[] {
  return [
    ...keys.map(({ prefix, created_at, last_used }) => ({
      ...{ id: prefix, what: texts.kinds.key, name: prefix, madeAt: created_at, lastUsed: last_used },
      ...{ verb: 'revoke' as const, path: 'keys/revoke', body: { prefix } },
    })),
    ...sources.map(({ source_id, kind, name, created_at, last_used }) => ({
      ...{
        id: source_id,
        what: texts.kinds.source(kind),
        name: name ?? source_id,
        madeAt: created_at,
        lastUsed: last_used,
      },
      ...{ verb: 'revoke' as const, path: 'sources/revoke', body: { source_id } },
    })),
    ...alerts.map(({ alert_id, name, target, created_at }) => ({
      ...{
        id: alert_id,
        what: texts.kinds.alert,
        name: texts.alertTo(name, target),
        madeAt: created_at,
        lastUsed: undefined,
      },
      ...{ verb: 'remove' as const, path: 'alerts/remove', body: { alert_id } },
    })),
    ...shared_links.map(({ id, name, created_at, last_used }) => ({
      ...{ id, what: texts.kinds.link, name, madeAt: created_at, lastUsed: last_used },
      ...{ verb: 'revoke' as const, path: 'shared-links/revoke', body: { id } },
    })),
    ...people.map(({ id, name, added_at }) => ({
      ...{ id, what: texts.kinds.person, name, madeAt: added_at, lastUsed: undefined },
      ...{ verb: 'remove' as const, path: 'people/remove', body: { person: id } },
    })),
  ]
}
