import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import type {
  AlertsAnswer,
  CreateAlertBody,
  CreatedAlertAnswer,
  ListedAlert,
  TryAlertBody,
} from '../../../../../schemas/dashboard/alerts.ts'
import {
  AFTER_DAYS_MAX,
  AFTER_DAYS_MIN,
  AFTER_DAYS_USUAL,
  LABEL_CHARS_MAX,
} from '../../../../../schemas/dashboard/limits.ts'
import { cutText } from '../../../../run/cut-text.ts'
import { Button } from '../../design/button.tsx'
import { FieldError, Select, TextInput } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Card, Page } from '../../design/page.tsx'
import { Segmented } from '../../design/tabs.tsx'
import { post } from '../../lib/api.ts'
import { withZone } from '../../lib/days.ts'
import type { PageProps } from '../../lib/page-props.ts'
import { useSegments } from '../../lib/segments.ts'
import { useUrlState } from '../../lib/url-state.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'
import { CreatedAlert } from './created-alert.tsx'
import { NoMail } from './no-mail.tsx'
import { Trial } from './trial.tsx'
import { KIND_WORDS } from './words.ts'

const texts = TEXTS.alerts.new

/** See `JOB_TYPE`. */
const JOB = 'job.ended'

type On = ListedAlert['on']
type Kind = ListedAlert['to']

const OCCASIONS: Readonly<Record<On, string>> = {
  'company.first_seen': texts.occasions.firstSeen,
  'company.returned': texts.occasions.returned,
  'segment.entered': texts.occasions.entered,
  'company.corrected': texts.occasions.corrected,
  [JOB]: texts.occasions.jobEnded,
}

/** A form for a new alert, and the messages that it would have sent. The URL may choose the segment. */
export function NewAlert({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  const [created, setCreated] = useState<CreatedAlertAnswer>()
  const [, navigate] = useLocation()
  const list = `/t/${tenant}/alerts`
  return (
    <Page
      key={tenant}
      title={created === undefined ? TEXTS.words.buttons.newAlert : created.alert.name}
      back={{ href: list, label: TEXTS.words.fields.alerts }}
      isNarrow
    >
      {created === undefined ? (
        <Form tenant={tenant} onCreated={setCreated} onCancel={() => navigate(list)} />
      ) : (
        <CreatedAlert tenant={tenant} created={created} onDone={() => navigate(list)} />
      )}
    </Page>
  )
}

interface FormProps {
  readonly tenant: string
  readonly onCreated: (created: CreatedAlertAnswer) => void
  readonly onCancel: () => void
}

function Form({ tenant, onCreated, onCancel }: FormProps) {
  const [state] = useUrlState()
  const { segments } = useSegments()
  const { value: known } = useData<AlertsAnswer>(`/api/tenants/${tenant}/alerts`)
  const [on, setOn] = useState<On>(state.has('segment') ? 'segment.entered' : 'company.first_seen')
  const [afterDays, setAfterDays] = useState(String(AFTER_DAYS_USUAL))
  const [segmentId, setSegmentId] = useState(state.get('segment') ?? '')
  const [to, setTo] = useState<Kind>('webhook')
  const [target, setTarget] = useState('')
  const [digest, setDigest] = useState<'' | 'weekly'>('')
  const [typedName, setName] = useState<string>()
  const creating = useAction()
  const segment = segments?.find(({ segment_id: id }) => id === segmentId)
  const when = whenOf(on, afterDays, segment?.segment_id)
  const name = typedName ?? suggestedName(on, afterDays, segment?.name)
  const mayBeWeekly = to === 'email' && on !== JOB
  const cannotEmail = to === 'email' && known?.can_email === false
  const submit = () =>
    creating.run(async () => {
      if (when === undefined) throw new Error(texts.chooseFirst)
      const body: CreateAlertBody = { ...when, name, to, target, ...(mayBeWeekly && digest && { digest }) }
      onCreated(await post<CreatedAlertAnswer>(`/api/tenants/${tenant}/alerts`, body))
    })
  const errorOf = (field: string) => (creating.field === field ? creating.error : undefined)
  const isFieldError = ['name', 'target', 'segment', 'after_days'].includes(creating.field ?? '')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Stack gap={5}>
        <Card title={texts.when}>
          <Stack>
            <Select
              label={texts.tellMe}
              value={on}
              options={Object.entries(OCCASIONS).map(([value, label]) => ({ value, label }))}
              onChange={(next) => {
                setOn(next as On)
                creating.reset()
              }}
            />
            {on === 'company.returned' && (
              <TextInput
                label={texts.days}
                type="number"
                required
                min={AFTER_DAYS_MIN}
                max={AFTER_DAYS_MAX}
                value={afterDays}
                error={errorOf('after_days')}
                onInput={setAfterDays}
              />
            )}
            {on === 'company.corrected' && <Text tone="soft">{texts.aboutCorrected}</Text>}
            {on === JOB ? (
              <Text tone="soft">{texts.aboutJobs}</Text>
            ) : (
              <>
                <SegmentChoice
                  tenant={tenant}
                  isNeeded={on === 'segment.entered'}
                  value={segment?.segment_id ?? ''}
                  error={errorOf('segment')}
                  onChange={setSegmentId}
                />
                <Trial tenant={tenant} when={when} />
              </>
            )}
          </Stack>
        </Card>
        <Card title={texts.where}>
          <Stack>
            <Row>
              <Segmented
                label={texts.kind}
                value={to}
                options={Object.entries(KIND_WORDS).map(([value, label]) => ({ value, label }))}
                onChange={(next) => {
                  setTo(next as Kind)
                  creating.reset()
                }}
              />
            </Row>
            <Destination
              to={to}
              value={target}
              error={errorOf('target')}
              onInput={(next) => {
                setTarget(next)
                creating.reset()
              }}
            />
            {cannotEmail && <NoMail />}
            {mayBeWeekly && !cannotEmail && (
              <Row>
                <Segmented
                  label={texts.howOften}
                  value={digest}
                  options={[
                    { value: '', label: texts.each },
                    { value: 'weekly', label: texts.weekly },
                  ]}
                  onChange={(next) => setDigest(next === 'weekly' ? next : '')}
                />
              </Row>
            )}
            {mayBeWeekly && digest === 'weekly' && !cannotEmail && (
              <Text tone="soft" isSmall>
                {texts.aboutWeekly(withZone('8:00'))}
              </Text>
            )}
            <TextInput
              label={texts.name}
              required
              maxLength={LABEL_CHARS_MAX}
              autocomplete="off"
              value={name}
              error={errorOf('name')}
              onInput={setName}
            />
          </Stack>
        </Card>
        <FieldError error={isFieldError ? undefined : creating.error} />
        <Row justify="right">
          <Button onClick={onCancel}>{TEXTS.words.buttons.cancel}</Button>
          <Button type="submit" variant="primary" disabled={creating.isBusy || cannotEmail}>
            {texts.create}
          </Button>
        </Row>
      </Stack>
    </form>
  )
}

/** Undefined: something is missing or out of range. */
function whenOf(on: On, afterDays: string, segmentId: string | undefined): TryAlertBody | undefined {
  const days = Number(afterDays)
  if (on === 'segment.entered' && segmentId === undefined) return undefined
  if (on === 'company.returned' && !(Number.isInteger(days) && days >= AFTER_DAYS_MIN && days <= AFTER_DAYS_MAX)) {
    return undefined
  }
  return {
    on,
    ...(on === 'company.returned' && { after_days: days }),
    ...(segmentId !== undefined && on !== JOB && { segment_id: segmentId }),
  }
}

function suggestedName(on: On, afterDays: string, segment: string | undefined): string {
  const names: Readonly<Record<On, string>> = {
    'company.first_seen': texts.names.firstSeen(segment),
    'company.returned': texts.names.returned(afterDays, segment),
    'segment.entered': segment === undefined ? '' : texts.names.entered(segment),
    'company.corrected': texts.names.corrected(segment),
    [JOB]: texts.names.jobEnded,
  }
  return cutText(names[on], LABEL_CHARS_MAX)
}

interface SegmentChoiceProps {
  readonly tenant: string
  readonly isNeeded: boolean
  readonly value: string
  readonly error: string | undefined
  readonly onChange: (id: string) => void
}

function SegmentChoice({ tenant, isNeeded, value, error, onChange }: SegmentChoiceProps) {
  const { segments } = useSegments()
  if (segments?.length === 0) {
    return (
      <Text tone="soft">
        {(isNeeded ? texts.noSegment : texts.everyCompany)((text) => (
          <Link href={`/t/${tenant}/companies`}>{text}</Link>
        ))}
      </Text>
    )
  }
  return (
    <Select
      label={isNeeded ? texts.segment : texts.which}
      value={value}
      error={error}
      options={[
        { value: '', label: isNeeded ? texts.chooseSegment : texts.all },
        ...(segments ?? []).map(({ segment_id: id, name: label }) => ({ value: id, label })),
      ]}
      onChange={onChange}
    />
  )
}

const DESTINATIONS = {
  webhook: {
    label: texts.destinations.url,
    hint: texts.destinations.aboutUrl,
    placeholder: 'https://example.com/hooks/ipid',
  },
  slack: {
    label: texts.destinations.slack,
    hint: texts.destinations.aboutSlack,
    placeholder: 'https://hooks.slack.com/services/…',
  },
  teams: {
    label: texts.destinations.teams,
    hint: texts.destinations.aboutTeams,
    placeholder: 'https://….logic.azure.com/workflows/…',
  },
  email: { label: texts.destinations.email, hint: undefined, placeholder: 'sales@example.com' },
} as const

interface DestinationProps {
  readonly to: Kind
  readonly value: string
  readonly error: string | undefined
  readonly onInput: (value: string) => void
}

function Destination({ to, ...props }: DestinationProps) {
  const { label, hint, placeholder } = DESTINATIONS[to]
  return (
    <TextInput
      {...{ label, hint, placeholder }}
      type={to === 'email' ? 'email' : 'url'}
      required
      maxLength={2_048}
      autocomplete="off"
      spellcheck={false}
      {...props}
    />
  )
}
