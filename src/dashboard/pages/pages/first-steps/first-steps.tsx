import { useEffect, useState } from 'preact/hooks'
import type { FirstSteps as Answer } from '../../../../../schemas/dashboard/first-steps.ts'
import { SampleButton } from '../../components/sample-data.tsx'
import { Button, LinkButton } from '../../design/button.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Problem } from '../../design/notice.tsx'
import { Card } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { Step, Steps } from '../../design/steps.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { useSession } from '../../lib/session.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'
import { Invite } from '../people/invite.tsx'
import { Connect } from './connect.tsx'
import { OwnOffice } from './own-office.tsx'
import { Verify } from './verify.tsx'

const texts = TEXTS.firstSteps.steps

/** While a person waits for the first page view. */
const SOON_MS = 2_000
const EVERY_MS = 15_000

interface FirstStepsProps {
  readonly tenant: string
  /** Whether no event was kept yet: then the list can be opened again. */
  readonly isEmpty: boolean
}

/** The first steps of a workspace, until all are done or somebody closes the list. */
export function FirstSteps({ tenant, isEmpty }: FirstStepsProps) {
  const path = `/api/tenants/${tenant}/first-steps`
  const [everyMs, setEveryMs] = useState(EVERY_MS)
  const { value, error, reload } = useData<Answer>(path, {}, everyMs)
  const closing = useAction()
  const isWaiting = value !== undefined && value.website !== null && !isVerified(value)
  useEffect(() => setEveryMs(isWaiting ? SOON_MS : EVERY_MS), [isWaiting])
  if (error !== undefined && value === undefined) return isEmpty ? <Problem error={error} onRetry={reload} /> : null
  if (value === undefined) return isEmpty ? <Loading rows={5} rowHeight={36} /> : null
  const close = (isClosed: boolean) =>
    closing.run(async () => {
      await post(`${path}/close`, { is_closed: isClosed })
      reload()
      if (isClosed) toast({ text: texts.closed, undo: () => close(false) })
    })
  if (value.is_closed) {
    return isEmpty ? (
      <Row>
        <Button onClick={() => close(false)}>{texts.show}</Button>
        <SampleButton tenant={tenant} />
      </Row>
    ) : null
  }
  return <List tenant={tenant} answer={value} reload={reload} isBusy={closing.isBusy} onClose={() => close(true)} />
}

function isVerified({ website, seen, has_events: hasEvents }: Answer): boolean {
  return seen !== null || hasEvents || website?.has_events === true
}

interface ListProps {
  readonly tenant: string
  readonly answer: Answer
  readonly reload: () => void
  readonly isBusy: boolean
  readonly onClose: () => void
}

function List({ tenant, answer, reload, isBusy, onClose }: ListProps) {
  const { role } = useSession()
  const [isInviting, setInviting] = useState(false)
  /** The step that a person opened or closed; undefined: the first that is not done is open. */
  const [chosen, setChosen] = useState<{ readonly step: number; readonly isOpen: boolean }>()
  // An operator is no person of the workspace.
  const others = answer.people - (role === 'operator' ? 0 : 1)
  const [own] = answer.own_rules
  const steps = [
    {
      title: texts.connect,
      isDone: answer.website !== null || answer.has_events,
      note: answer.website?.setup.base,
      body: <Connect tenant={tenant} answer={answer} onChanged={reload} />,
    },
    {
      title: texts.see,
      isDone: isVerified(answer),
      body: <Verify tenant={tenant} answer={answer} />,
    },
    {
      title: texts.office,
      isDone: answer.own_rules.length > 0,
      note: own && (answer.own_rules.length > 1 ? texts.andOthers(own) : own),
      body: <OwnOffice tenant={tenant} answer={answer} onChanged={reload} />,
    },
    {
      title: texts.alert,
      isDone: answer.alerts > 0,
      body: (
        <Stack gap={3}>
          <Text isMeasured>{texts.aboutAlert}</Text>
          <Row>
            <LinkButton href={`/t/${tenant}/alerts/new`}>{texts.createAlert}</LinkButton>
          </Row>
        </Stack>
      ),
    },
    {
      title: texts.invite,
      isDone: others > 0,
      body: (
        <Stack gap={3}>
          <Text isMeasured>{texts.aboutInvite}</Text>
          <Row>
            <Button onClick={() => setInviting(true)}>{texts.inviteOne}</Button>
          </Row>
        </Stack>
      ),
    },
  ]
  const done = steps.filter(({ isDone }) => isDone).length
  const current = steps.findIndex(({ isDone }) => !isDone)
  if (current < 0) return null
  return (
    <Card
      title={texts.title}
      actions={
        <>
          <Text as="span" tone="soft" isSmall role="status">
            {texts.doneOf(done, steps.length)}
          </Text>
          <Button size="s" variant="quiet" disabled={isBusy} onClick={onClose}>
            {texts.close}
          </Button>
        </>
      }
    >
      <Steps label={texts.title}>
        {steps.map(({ title, isDone, note, body }, i) => {
          const isOpen = chosen === undefined ? i === current : chosen.step === i && chosen.isOpen
          return (
            <Step
              key={title}
              number={i + 1}
              title={title}
              note={isDone ? note : undefined}
              isDone={isDone}
              isOpen={isOpen}
              onToggle={(next) => next !== isOpen && setChosen({ step: i, isOpen: next })}
            >
              {isOpen && body}
            </Step>
          )
        })}
      </Steps>
      {!answer.has_events && (
        <Row gap={2}>
          <SampleButton tenant={tenant} />
        </Row>
      )}
      {isInviting && <Invite tenant={tenant} onInvited={reload} onClose={() => setInviting(false)} />}
    </Card>
  )
}
