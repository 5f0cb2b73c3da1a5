import { Ellipsis, Link2, LogOut, Trash2, X } from 'lucide-preact'
import type { ListedPerson } from '../../../../../schemas/dashboard/people.ts'
import { TENANT_ROLES, type TenantRole } from '../../../../../schemas/dashboard/roles.ts'
import { Avatar } from '../../design/avatar.tsx'
import { Badge } from '../../design/badge.tsx'
import { IconButton } from '../../design/button.tsx'
import { Select } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Menu } from '../../design/popover.tsx'
import { Table, type TableColumn } from '../../design/table.tsx'
import { Time } from '../../design/time.tsx'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.people.table

/** Actions of a list of people. */
export interface PersonActions {
  /**
   * Ends a session or withdraws an invitation.
   * @param done reports the action
   * @param maker maker id of a session without a person
   */
  readonly onEnd: (id: string, done: string, maker?: string) => void
  /** Undefined: the people are on no list. */
  readonly onInvite?: (person: ListedPerson) => void
  readonly onRole?: (person: ListedPerson, role: TenantRole) => void
  readonly onSignOut?: (person: ListedPerson) => void
  readonly onRemove?: (person: ListedPerson) => void
  /** Whether the user may make sign-in links for others. */
  readonly isOperator?: boolean
}

interface PersonListProps extends PersonActions {
  readonly label: string
  /** Name of somebody who has none. */
  readonly nameless: string
  readonly people: readonly ListedPerson[]
}

/** People, where they are signed in, and their open invitations. */
export function PersonList({ label, nameless, people, ...actions }: PersonListProps) {
  const nameOf = ({ name }: ListedPerson) => name ?? nameless
  const columns: TableColumn<ListedPerson>[] = [
    { key: 'name', label: texts.person, text: 260, render: (person) => <Name person={person} name={nameOf(person)} /> },
    ...(actions.onRole === undefined
      ? []
      : [
          {
            key: 'role',
            label: texts.role,
            render: (person: ListedPerson) => <Role person={person} name={nameOf(person)} onRole={actions.onRole!} />,
          },
        ]),
    {
      key: 'sessions',
      label: texts.signedIn,
      text: 'wrap',
      inCard: 'whole',
      render: (person) => <Sessions person={person} name={nameOf(person)} onEnd={actions.onEnd} />,
    },
    {
      key: 'invitation',
      label: texts.invitation,
      text: 'wrap',
      inCard: 'whole',
      render: (person) => <Invitations person={person} name={nameOf(person)} onEnd={actions.onEnd} />,
    },
    ...(actions.onRemove === undefined
      ? []
      : [
          {
            key: 'actions',
            label: TEXTS.words.fields.actions,
            isLabelHidden: true,
            isActions: true,
            render: (person: ListedPerson) => person.id !== null && <Actions person={person} {...actions} />,
          },
        ]),
  ]
  return <Table label={label} columns={columns} rows={people} keyOf={keyOf} />
}

interface RoleProps {
  readonly person: ListedPerson
  readonly name: string
  readonly onRole: (person: ListedPerson, role: TenantRole) => void
}

/** People cannot change their own role. A session without a person has the role of its link. */
function Role({ person, name, onRole }: RoleProps) {
  const { id, role, sessions } = person
  if (role === null) return null
  if (id === null || sessions.some(({ is_current }) => is_current)) return <span>{TEXTS.words.roles[role]}</span>
  const options = TENANT_ROLES.map((value) => ({ value, label: TEXTS.words.roles[value] }))
  return (
    <Select
      label={texts.roleOf(name)}
      isLabelHidden
      isSmall
      value={role}
      options={options}
      onChange={(next) => onRole(person, next as TenantRole)}
    />
  )
}

function keyOf({ id, sessions, invitations }: ListedPerson): string {
  return id ?? sessions[0]?.id ?? invitations[0]!.id
}

function Name({ person, name }: { readonly person: ListedPerson; readonly name: string }) {
  const isYou = person.sessions.some(({ is_current }) => is_current)
  return (
    <Row isOneLine>
      <Avatar name={name} id={keyOf(person)} size={28} />
      <Stack gap={1}>
        <Row gap={2} isOneLine>
          <Text as="span" isCut isStrong={person.name !== null} tone={person.name === null ? 'soft' : undefined}>
            {name}
          </Text>
          {isYou && <Badge tone="accent">{texts.you}</Badge>}
        </Row>
        {person.email !== null && person.email !== name && (
          <Text tone="soft" isSmall isCut title={person.email}>
            {person.email}
          </Text>
        )}
      </Stack>
    </Row>
  )
}

interface SessionsProps extends Pick<PersonActions, 'onEnd'> {
  readonly person: ListedPerson
  readonly name: string
}

function Sessions({ person, name, onEnd }: SessionsProps) {
  const { sessions } = person
  if (sessions.length === 0) return <Text tone="soft">{texts.notSignedIn}</Text>
  return (
    <Stack gap={2}>
      {sessions.map(({ id, device, signed_in_at, last_used_at, is_current }) => (
        <Row key={id} gap={2} isOneLine>
          <div>
            <Row gap={2}>
              <span>{device ?? texts.unknownDevice}</span>
              {is_current && <Badge tone="good">{texts.thisBrowser}</Badge>}
            </Row>
            <Text tone="soft" isSmall>
              {signed_in_at !== null && (
                <>
                  {texts.since(<Time at={signed_in_at} />)}
                  {', '}
                </>
              )}
              {last_used_at !== null && <>{texts.used(<Time at={last_used_at} isAgo />)}</>}
            </Text>
          </div>
          {!is_current && (
            <IconButton
              icon={X}
              size="s"
              label={texts.endSession(name, device ?? texts.anUnknownDevice)}
              onClick={() => onEnd(id, texts.ended(name), person.id === null ? `session:${id}` : undefined)}
            />
          )}
        </Row>
      ))}
    </Stack>
  )
}

interface InvitationsProps extends Pick<PersonActions, 'onEnd'> {
  readonly person: ListedPerson
  readonly name: string
}

function Invitations({ person, name, onEnd }: InvitationsProps) {
  const { invitations, added_at, added_by, sessions } = person
  if (invitations.length === 0) {
    if (added_at === null) return null
    return (
      <Text tone="soft" isSmall>
        {texts.added(sessions.length === 0, <Time at={added_at} />, added_by)}
      </Text>
    )
  }
  return (
    <Stack gap={2}>
      {invitations.map(({ id, expires_at }) => (
        <Row key={id} gap={2} isOneLine>
          <div>
            <Badge tone="warn">{texts.notOpened}</Badge>
            <Text tone="soft" isSmall>
              {texts.until(<Time at={expires_at} />, added_by)}
            </Text>
          </div>
          <IconButton icon={X} size="s" label={texts.withdraw(name)} onClick={() => onEnd(id, texts.withdrawn(name))} />
        </Row>
      ))}
    </Stack>
  )
}

function Actions({
  person,
  onInvite,
  onSignOut,
  onRemove,
  isOperator,
}: PersonActions & { readonly person: ListedPerson }) {
  const mayLink = isOperator === true || person.sessions.some(({ is_current }) => is_current)
  const isOut = person.sessions.length + person.invitations.length === 0
  const label = texts.actionsFor(person.name ?? TEXTS.people.list.noName)
  return (
    <Menu
      label={label}
      align="end"
      trigger={(props) => <IconButton icon={Ellipsis} label={label} {...props} />}
      entries={[
        { label: texts.newLink, icon: Link2, isDisabled: !mayLink, onSelect: () => onInvite?.(person) },
        { label: texts.signOut, icon: LogOut, isDisabled: isOut, onSelect: () => onSignOut?.(person) },
        'line',
        { label: TEXTS.words.buttons.remove, icon: Trash2, isDanger: true, onSelect: () => onRemove?.(person) },
      ]}
    />
  )
}
