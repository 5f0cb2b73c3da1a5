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
import { CreatedAlert } from './created-alert.tsx'
import { NoMail } from './no-mail.tsx'
import { Trial } from './trial.tsx'
import { KIND_WORDS } from './words.ts'

type On = ListedAlert['on']
type Kind = ListedAlert['to']

const OCCASIONS: Readonly<Record<On, string>> = {
  'company.first_seen': 'a company is seen for the first time',
  'company.returned': 'a company returns after some days',
  'segment.entered': 'a company enters a segment',
  'company.corrected': "a company's data is corrected",
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
      title={created === undefined ? 'New alert' : created.alert.name}
      back={{ href: list, label: 'Alerts' }}
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
  const cannotEmail = to === 'email' && known?.can_email === false
  const submit = () =>
    creating.run(async () => {
      if (when === undefined) throw new Error('Choose a segment first.')
      const body: CreateAlertBody = { ...when, name, to, target, ...(to === 'email' && digest && { digest }) }
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
        <Card title="When">
          <Stack>
            <Select
              label="Tell me when"
              value={on}
              options={Object.entries(OCCASIONS).map(([value, label]) => ({ value, label }))}
              onChange={(next) => {
                setOn(next as On)
                creating.reset()
              }}
            />
            {on === 'company.returned' && (
              <TextInput
                label="Days without a visit"
                type="number"
                required
                min={AFTER_DAYS_MIN}
                max={AFTER_DAYS_MAX}
                value={afterDays}
                error={errorOf('after_days')}
                onInput={setAfterDays}
              />
            )}
            {on === 'company.corrected' && (
              <Text tone="soft">
                It reports when an earlier message turns out wrong: the company was renamed, merged or hidden, or its
                visits belong to another one.
              </Text>
            )}
            <SegmentChoice
              tenant={tenant}
              isNeeded={on === 'segment.entered'}
              value={segment?.segment_id ?? ''}
              error={errorOf('segment')}
              onChange={setSegmentId}
            />
            <Trial tenant={tenant} when={when} />
          </Stack>
        </Card>
        <Card title="Where">
          <Stack>
            <Row>
              <Segmented
                label="Kind of destination"
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
            {to === 'email' && !cannotEmail && (
              <Row>
                <Segmented
                  label="How often"
                  value={digest}
                  options={[
                    { value: '', label: 'An e-mail for each company' },
                    { value: 'weekly', label: 'One e-mail a week' },
                  ]}
                  onChange={(next) => setDigest(next === 'weekly' ? next : '')}
                />
              </Row>
            )}
            {to === 'email' && digest === 'weekly' && !cannotEmail && (
              <Text tone="soft" isSmall>
                It lists the companies of the week, on Mondays at {withZone('8:00')}. A week without any sends nothing.
              </Text>
            )}
            <TextInput
              label="Name of the alert"
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
          <Button onClick={onCancel}>Cancel</Button>
          <Button type="submit" variant="primary" disabled={creating.isBusy || cannotEmail}>
            Create alert
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
    ...(segmentId !== undefined && { segment_id: segmentId }),
  }
}

function suggestedName(on: On, afterDays: string, segment: string | undefined): string {
  const inSegment = segment === undefined ? '' : ` in ${segment}`
  const names: Readonly<Record<On, string>> = {
    'company.first_seen': `First visits${inSegment}`,
    'company.returned': `Back after ${afterDays} days${inSegment}`,
    'segment.entered': segment === undefined ? '' : `Enters ${segment}`,
    'company.corrected': `Corrections${inSegment}`,
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
        {isNeeded ? 'There is no segment yet.' : 'It is for every company.'} A segment is a saved filter: set filters on
        the list of <Link href={`/t/${tenant}/companies`}>companies</Link> and save them.
      </Text>
    )
  }
  return (
    <Select
      label={isNeeded ? 'Segment' : 'Which companies'}
      value={value}
      error={error}
      options={[
        { value: '', label: isNeeded ? 'Choose a segment' : 'Every company' },
        ...(segments ?? []).map(({ segment_id: id, name: label }) => ({ value: id, label })),
      ]}
      onChange={onChange}
    />
  )
}

const DESTINATIONS = {
  webhook: {
    label: 'URL of your program',
    hint: 'It gets a signed POST with JSON, as Standard Webhooks describes.',
    placeholder: 'https://example.com/hooks/ipid',
  },
  slack: {
    label: 'URL of an incoming webhook of Slack',
    hint: 'Slack makes it: in your app, Incoming Webhooks, Add New Webhook to Workspace.',
    placeholder: 'https://hooks.slack.com/services/…',
  },
  teams: {
    label: 'URL of a workflow of Microsoft Teams',
    hint: 'In Teams: the menu of the channel, Workflows, "Post to a channel when a webhook request is received".',
    placeholder: 'https://….logic.azure.com/workflows/…',
  },
  email: { label: 'E-mail address', hint: undefined, placeholder: 'sales@example.com' },
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
