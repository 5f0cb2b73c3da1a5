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
import { capitalised } from '../../lib/format.ts'

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
    { key: 'name', label: 'Person', text: 260, render: (person) => <Name person={person} name={nameOf(person)} /> },
    ...(actions.onRole === undefined
      ? []
      : [
          {
            key: 'role',
            label: 'Role',
            render: (person: ListedPerson) => <Role person={person} name={nameOf(person)} onRole={actions.onRole!} />,
          },
        ]),
    {
      key: 'sessions',
      label: 'Signed in',
      text: 'wrap',
      inCard: 'whole',
      render: (person) => <Sessions person={person} name={nameOf(person)} onEnd={actions.onEnd} />,
    },
    {
      key: 'invitation',
      label: 'Invitation',
      text: 'wrap',
      inCard: 'whole',
      render: (person) => <Invitations person={person} name={nameOf(person)} onEnd={actions.onEnd} />,
    },
    ...(actions.onRemove === undefined
      ? []
      : [
          {
            key: 'actions',
            label: 'Actions',
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
  if (id === null || sessions.some(({ is_current }) => is_current)) return <span>{capitalised(role)}</span>
  const options = TENANT_ROLES.map((value) => ({ value, label: capitalised(value) }))
  return (
    <Select
      label={`Role of ${name}`}
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
          {isYou && <Badge tone="accent">you</Badge>}
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
  if (sessions.length === 0) return <Text tone="soft">not signed in</Text>
  return (
    <Stack gap={2}>
      {sessions.map(({ id, device, signed_in_at, last_used_at, is_current }) => (
        <Row key={id} gap={2} isOneLine>
          <div>
            <Row gap={2}>
              <span>{device ?? 'Unknown device'}</span>
              {is_current && <Badge tone="good">this browser</Badge>}
            </Row>
            <Text tone="soft" isSmall>
              {signed_in_at !== null && (
                <>
                  since <Time at={signed_in_at} />
                  {', '}
                </>
              )}
              {last_used_at !== null && (
                <>
                  used <Time at={last_used_at} isAgo />
                </>
              )}
            </Text>
          </div>
          {!is_current && (
            <IconButton
              icon={X}
              size="s"
              label={`End the session of ${name}: ${device ?? 'unknown device'}`}
              onClick={() =>
                onEnd(id, `A session of ${name} was ended.`, person.id === null ? `session:${id}` : undefined)
              }
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
        {sessions.length === 0 && 'no open link, '}
        added <Time at={added_at} />
        {added_by !== null && ` by ${added_by}`}
      </Text>
    )
  }
  return (
    <Stack gap={2}>
      {invitations.map(({ id, expires_at }) => (
        <Row key={id} gap={2} isOneLine>
          <div>
            <Badge tone="warn">not opened yet</Badge>
            <Text tone="soft" isSmall>
              until <Time at={expires_at} />
              {added_by !== null && `, by ${added_by}`}
            </Text>
          </div>
          <IconButton
            icon={X}
            size="s"
            label={`Withdraw the invitation of ${name}`}
            onClick={() => onEnd(id, `The invitation of ${name} was withdrawn.`)}
          />
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
  return (
    <Menu
      label={`Actions for ${person.name}`}
      align="end"
      trigger={(props) => <IconButton icon={Ellipsis} label={`Actions for ${person.name}`} {...props} />}
      entries={[
        { label: 'New sign-in link', icon: Link2, isDisabled: !mayLink, onSelect: () => onInvite?.(person) },
        { label: 'Sign out everywhere', icon: LogOut, isDisabled: isOut, onSelect: () => onSignOut?.(person) },
        'line',
        { label: 'Remove', icon: Trash2, isDanger: true, onSelect: () => onRemove?.(person) },
      ]}
    />
  )
}
