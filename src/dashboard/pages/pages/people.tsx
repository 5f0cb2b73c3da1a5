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
import { useSession } from '../lib/session.ts'
import { useAction } from '../lib/use-action.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'
import { Invite } from './people/invite.tsx'
import { Made } from './people/made.tsx'
import { PersonList } from './people/person-list.tsx'

const texts = TEXTS.people.list

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
      if (maker !== undefined) setLeft({ maker, title: texts.sessionEnded })
      return done
    })
  const signOut = ({ id, name }: ListedPerson) =>
    act(async () => {
      await post<EndedAnswer>(`${path}/sign-out`, { person: id })
      return texts.signedOut(name ?? texts.noName)
    })
  const setRole = ({ id, name }: ListedPerson, role: TenantRole) =>
    act(async () => {
      await post(`${path}/role`, { person: id, role })
      return texts.isNow[role](name ?? texts.noName)
    })
  const signOutAll = () =>
    act(async () => {
      const { sessions, links } = await post<SignedOutAnswer>(`/api/tenants/${tenant}/sign-out`)
      return texts.ended(sessions, links)
    })
  const invite = (
    <Button variant="primary" icon={UserPlus} onClick={() => setInvited('new')}>
      {texts.invite}
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
          title={texts.title}
          description={texts.about(tenant)}
          actions={
            people.length > 0 && (
              <>
                {role === 'operator' && (
                  <Button variant="danger" disabled={acting.isBusy} onClick={signOutAll}>
                    {texts.signAllOut}
                  </Button>
                )}
                {invite}
              </>
            )
          }
        >
          {people.length === 0 ? (
            <EmptyState title={texts.none} icon={UsersRound}>
              <p>{texts.aboutInvitation}</p>
              {invite}
            </EmptyState>
          ) : (
            <PersonList
              label={texts.members}
              nameless={texts.noName}
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
        <Section title={texts.operators} description={texts.aboutOperators}>
          <PersonList
            label={texts.operators}
            nameless={texts.operator}
            people={operators}
            onEnd={(id, done) => end(id, done)}
          />
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
            setLeft({ maker: `person:${removed.id}`, title: texts.removed(removed.name ?? texts.noName) })
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
  const name = person.name ?? texts.noName
  const remove = () =>
    run(async () => {
      await post(`/api/tenants/${tenant}/people/remove`, { person: person.id })
      toast({ text: texts.removedNow(name) })
      onRemoved()
    })
  return (
    <Dialog
      title={texts.removeOf(name)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{TEXTS.words.buttons.keep}</Button>
          <Button variant="danger" disabled={isBusy} onClick={remove}>
            {texts.remove}
          </Button>
        </>
      }
    >
      <Text>{texts.aboutRemoval}</Text>
      {person.email !== null && <Text>{texts.mailsEnd(person.email)}</Text>}
      <Text tone="soft">{texts.whatStays}</Text>
      <FieldError error={error} />
    </Dialog>
  )
}
