import { UserPlus, UsersRound } from 'lucide-preact'
import { useState } from 'preact/hooks'
import type { EndedAnswer, ListedPerson, PeopleAnswer } from '../../../../schemas/dashboard/people.ts'
import type { TenantRole } from '../../../../schemas/dashboard/roles.ts'
import type { SignedOutAnswer } from '../../../../schemas/dashboard/tenants.ts'
import { Button } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { FieldError } from '../design/field.tsx'
import { Text } from '../design/layout.tsx'
import { EmptyState, Problem } from '../design/notice.tsx'
import { Section } from '../design/page.tsx'
import { Loading } from '../design/skeleton.tsx'
import { toast } from '../design/toast.tsx'
import { post } from '../lib/api.ts'
import { counted } from '../lib/format.ts'
import { useSession } from '../lib/session.ts'
import { useAction } from '../lib/use-action.ts'
import { useData } from '../lib/use-data.ts'
import { Invite } from './people/invite.tsx'
import { Made } from './people/made.tsx'
import { PersonList } from './people/person-list.tsx'

const LOOK_EVERY_MS = 15_000

/** The members of a tenant, their sessions, and invitations. */
export function People({ tenant }: { readonly tenant: string }) {
  const path = `/api/tenants/${tenant}/people`
  const { role } = useSession()
  const list = useData<PeopleAnswer>(path, {}, LOOK_EVERY_MS)
  const [invited, setInvited] = useState<ListedPerson | 'new'>()
  const [removed, setRemoved] = useState<ListedPerson>()
  /** A removed maker whose records are shown. */
  const [left, setLeft] = useState<{ readonly maker: string; readonly title: string }>()
  const acting = useAction()
  const act = (work: () => Promise<string>) =>
    acting.run(async () => {
      toast({ text: await work() })
      list.reload()
    })
  const end = (id: string, done: string, maker?: string) =>
    act(async () => {
      await post<EndedAnswer>(`${path}/end`, { id })
      if (maker !== undefined) setLeft({ maker, title: 'The session was ended' })
      return done
    })
  const signOut = ({ id, name }: ListedPerson) =>
    act(async () => {
      await post<EndedAnswer>(`${path}/sign-out`, { person: id })
      return `${name} was signed out everywhere.`
    })
  const setRole = ({ id, name }: ListedPerson, role: TenantRole) =>
    act(async () => {
      await post(`${path}/role`, { person: id, role })
      return `${name} is ${role === 'admin' ? 'an' : 'a'} ${role} now.`
    })
  const signOutAll = () =>
    act(async () => {
      const { sessions, links } = await post<SignedOutAnswer>(`/api/tenants/${tenant}/sign-out`)
      return `Ended: ${counted(sessions, 'session')}, ${counted(links, 'link')} not opened yet.`
    })
  const invite = (
    <Button variant="primary" icon={UserPlus} onClick={() => setInvited('new')}>
      Invite a person
    </Button>
  )
  const { people = [], operators = [] } = list.value ?? {}
  return (
    <>
      {list.error !== undefined && <Problem error={list.error} onRetry={list.reload} />}
      <FieldError error={acting.error} />
      {list.value === undefined && list.error === undefined && <Loading rows={3} rowHeight={44} />}
      {list.value !== undefined && (
        <Section
          title="People"
          description={`Who may use ${tenant}, and where they are signed in. Viewers read, members also change, admins also manage people, keys and sources.`}
          actions={
            people.length > 0 && (
              <>
                {role === 'operator' && (
                  <Button variant="danger" disabled={acting.isBusy} onClick={signOutAll}>
                    Sign all members out
                  </Button>
                )}
                {invite}
              </>
            )
          }
        >
          {people.length === 0 ? (
            <EmptyState title="There is no member yet" icon={UsersRound}>
              <p>An invitation is a link that signs one person in, once.</p>
              {invite}
            </EmptyState>
          ) : (
            <PersonList
              label="Members"
              nameless="No name"
              people={people}
              onEnd={end}
              onInvite={setInvited}
              onRole={setRole}
              onSignOut={signOut}
              onRemove={setRemoved}
              isOperator={role === 'operator'}
            />
          )}
        </Section>
      )}
      {operators.length > 0 && (
        <Section title="Operators" description="They see every workspace. Only operators see this list.">
          <PersonList label="Operators" nameless="Operator" people={operators} onEnd={(id, done) => end(id, done)} />
        </Section>
      )}
      {invited !== undefined && (
        <Invite
          tenant={tenant}
          person={invited === 'new' ? undefined : invited}
          onInvited={list.reload}
          onClose={() => setInvited(undefined)}
        />
      )}
      {removed !== undefined && (
        <RemovePerson
          tenant={tenant}
          person={removed}
          onRemoved={() => {
            setRemoved(undefined)
            setLeft({ maker: `person:${removed.id}`, title: `${removed.name} was removed` })
            list.reload()
          }}
          onClose={() => setRemoved(undefined)}
        />
      )}
      {left !== undefined && (
        <Made key={left.maker} tenant={tenant} {...left} onChanged={list.reload} onClose={() => setLeft(undefined)} />
      )}
    </>
  )
}

interface RemoveProps {
  readonly tenant: string
  readonly person: ListedPerson
  /** The person was removed: their records may still work. */
  readonly onRemoved: () => void
  readonly onClose: () => void
}

/** Confirms the removal of a person, and names its effect. */
function RemovePerson({ tenant, person, onRemoved, onClose }: RemoveProps) {
  const { isBusy, error, run } = useAction()
  const remove = () =>
    run(async () => {
      await post(`/api/tenants/${tenant}/people/remove`, { person: person.id })
      toast({ text: `${person.name} was removed.` })
      onRemoved()
    })
  return (
    <Dialog
      title={`Remove ${person.name}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep</Button>
          <Button variant="danger" disabled={isBusy} onClick={remove}>
            Remove person
          </Button>
        </>
      }
    >
      <Text>
        They are signed out everywhere at once. Links that they did not open, invitations that they made and that were
        not opened, and lists and companies that they shared stop working.
      </Text>
      <Text tone="soft">
        Name and e-mail address are deleted here. Their changes keep their name. The next step lists the keys, sources,
        alerts and people that they added, which keep working until you end them. They may also have seen other keys.
      </Text>
      <FieldError error={error} />
    </Dialog>
  )
}
