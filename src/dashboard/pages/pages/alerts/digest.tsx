import { Ellipsis, MailPlus, Send, Trash2 } from 'lucide-preact'
import { useState } from 'preact/hooks'
import type { DigestsAnswer, ListedDigest, SubscribeBody } from '../../../../../schemas/dashboard/digests.ts'
import { AddressInput } from '../../components/address-input.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { HowOften, TimeOfDay } from '../../components/schedule-fields.tsx'
import { Badge } from '../../design/badge.tsx'
import { Button, IconButton } from '../../design/button.tsx'
import { Checkbox, FieldError, Select } from '../../design/field.tsx'
import { Grid, Row, Stack, Text } from '../../design/layout.tsx'
import { EmptyState, Problem, sentence } from '../../design/notice.tsx'
import { Card, Page } from '../../design/page.tsx'
import { Menu } from '../../design/popover.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { Table } from '../../design/table.tsx'
import { Time } from '../../design/time.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { capitalised } from '../../lib/format.ts'
import { useMay } from '../../lib/may.ts'
import type { PageProps } from '../../lib/page-props.ts'
import { useSegments } from '../../lib/segments.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'
import { scheduleWords } from '../exports/words.ts'
import { AlertTabs } from './alert-tabs.tsx'
import { NoMail } from './no-mail.tsx'
import { answerWords } from './words.ts'

const texts = TEXTS.alerts.digest

const LOOK_EVERY_MS = 10_000

/** Subscriptions to the digest. */
export function DigestPage({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  // The key makes sure that state of one tenant is never shown for another.
  return <OfTenant key={tenant} tenant={tenant} />
}

function OfTenant({ tenant }: { readonly tenant: string }) {
  const path = `/api/tenants/${tenant}/digests`
  const list = useData<DigestsAnswer>(path, {}, LOOK_EVERY_MS)
  const [removed, setRemoved] = useState<ListedDigest>()
  const mayChange = useMay('member')
  const changing = useAction()
  const act = (action: 'send' | 'ask-again' | 'remove', digest: ListedDigest) => {
    if (action === 'remove') return setRemoved(digest)
    changing.run(async () => {
      await post(`${path}/${action}`, { digest_id: digest.digest_id })
      list.reload()
      toast({
        text: action === 'send' ? texts.onItsWay(digest.address) : texts.asked(digest.address),
      })
    })
  }
  return (
    <Page title={texts.title} description={texts.about}>
      <AlertTabs tenant={tenant} current="digest" />
      {list.error !== undefined && <Problem error={list.error} onRetry={list.reload} />}
      <FieldError error={changing.error} />
      {list.value === undefined && list.error === undefined && <Loading rows={4} rowHeight={48} />}
      {list.value?.can_email === false && <NoMail />}
      {list.value?.can_email === true && mayChange && (
        <Subscribe path={path} own={list.value.own_address ?? ''} onDone={list.reload} />
      )}
      {list.value?.digests.length === 0 && !mayChange && (
        <EmptyState icon={MailPlus} title={texts.noSubscriber}>
          <p>{texts.memberCan}</p>
        </EmptyState>
      )}
      {list.value !== undefined && list.value.digests.length > 0 && (
        <Subscribers digests={list.value.digests} onAct={mayChange ? act : undefined} />
      )}
      {removed !== undefined && (
        <Remove path={path} digest={removed} onRemoved={list.reload} onClose={() => setRemoved(undefined)} />
      )}
    </Page>
  )
}

interface SubscribeProps {
  readonly path: string
  /** Address of the user; empty: not known. */
  readonly own: string
  readonly onDone: () => void
}

function Subscribe({ path, own, onDone }: SubscribeProps) {
  const { segments } = useSegments()
  const [address, setAddress] = useState(own)
  const [every, setEvery] = useState<ListedDigest['every']>('week')
  const [at, setAt] = useState('08:00')
  const [segmentId, setSegmentId] = useState('')
  const [sendsEmpty, setSendsEmpty] = useState(false)
  const subscribing = useAction()
  const submit = () =>
    subscribing.run(async () => {
      const body: SubscribeBody = {
        ...{ address, every, at, sends_empty: sendsEmpty },
        ...(segmentId !== '' && { segment_id: segmentId }),
      }
      const made = await post<ListedDigest>(path, body)
      onDone()
      toast({
        text: made.unconfirmed === null ? texts.gets(made.address, scheduleWords(made)) : texts.getsMail(made.address),
      })
    })
  const errorOf = (field: string) => (subscribing.field === field ? subscribing.error : undefined)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Card title={texts.subscribe}>
        <Stack>
          <Grid min={260}>
            <AddressInput
              label={texts.address}
              value={address}
              error={errorOf('target')}
              hint={texts.confirms}
              onInput={setAddress}
            />
            {segments !== undefined && segments.length > 0 && (
              <Select
                label={texts.which}
                value={segmentId}
                error={errorOf('segment')}
                options={[
                  { value: '', label: texts.allCompanies },
                  ...segments.map(({ segment_id: value, name: label }) => ({ value, label })),
                ]}
                onChange={setSegmentId}
              />
            )}
            <TimeOfDay value={at} error={errorOf('at')} onInput={setAt} />
          </Grid>
          <FieldError
            error={['target', 'at', 'segment'].includes(subscribing.field ?? '') ? undefined : subscribing.error}
          />
          <Row justify="between">
            <Row>
              <HowOften value={every} onChange={setEvery} />
              <Checkbox label={texts.sendEmpty} isChecked={sendsEmpty} onChange={setSendsEmpty} />
            </Row>
            <Button type="submit" variant="primary" disabled={subscribing.isBusy}>
              {texts.subscribe}
            </Button>
          </Row>
        </Stack>
      </Card>
    </form>
  )
}

interface SubscribersProps {
  readonly digests: readonly ListedDigest[]
  /** Undefined: the user may change nothing. */
  readonly onAct: ((action: 'send' | 'ask-again' | 'remove', digest: ListedDigest) => void) | undefined
}

function Subscribers({ digests, onAct }: SubscribersProps) {
  return (
    <Table
      label={texts.subscribers}
      rows={digests}
      keyOf={({ digest_id: id }) => id}
      columns={[
        {
          key: 'address',
          label: texts.subscriber,
          text: 'wrap',
          render: ({ address, segment }) => (
            <Stack gap={1}>
              <Text as="span" isStrong>
                {address}
              </Text>
              <Text tone="soft" isSmall>
                {segment === null ? texts.allCompanies : (segment.name ?? texts.goneSegment)}
              </Text>
            </Stack>
          ),
        },
        {
          key: 'when',
          label: texts.sent,
          text: 'wrap',
          inCard: 'whole',
          render: (digest) => (
            <Stack gap={1}>
              <span>{capitalised(scheduleWords(digest))}</span>
              <Text tone="soft" isSmall>
                {digest.next_at !== null && <>{texts.next(<Time at={digest.next_at} />)}</>}
                {digest.sends_empty && texts.alsoEmpty}
              </Text>
            </Stack>
          ),
        },
        {
          key: 'state',
          label: TEXTS.words.fields.state,
          text: 'wrap',
          inCard: 'whole',
          render: (digest) => <State digest={digest} />,
        },
        {
          key: 'last',
          label: texts.lastMail,
          text: 'wrap',
          render: ({ last_attempt: last, unconfirmed }) =>
            last === null || unconfirmed !== null ? (
              <Text as="span" tone="soft">
                {texts.noneYet}
              </Text>
            ) : (
              <>
                <Text as="span" tone={last.error === null ? 'good' : 'bad'}>
                  {last.error === null ? texts.wasSent : answerWords(last)}
                </Text>{' '}
                <Text as="span" tone="soft" isSmall>
                  <Time at={last.at} isAgo />
                </Text>
              </>
            ),
        },
        {
          key: 'actions',
          label: TEXTS.words.fields.actions,
          isLabelHidden: true,
          isActions: true,
          render: (digest) => {
            if (onAct === undefined) return null
            const label = texts.actionsFor(digest.address)
            return (
              <Menu
                label={label}
                align="end"
                trigger={(props) => <IconButton icon={Ellipsis} label={label} {...props} />}
                entries={[
                  ...(digest.unconfirmed !== null
                    ? [{ label: texts.ask, icon: Send, onSelect: () => onAct('ask-again', digest) }, 'line' as const]
                    : digest.paused === null
                      ? [{ label: texts.sendNow, icon: Send, onSelect: () => onAct('send', digest) }, 'line' as const]
                      : []),
                  { label: texts.unsubscribe, icon: Trash2, isDanger: true, onSelect: () => onAct('remove', digest) },
                ]}
              />
            )
          },
        },
      ]}
    />
  )
}

function State({ digest: { paused, unconfirmed } }: { readonly digest: ListedDigest }) {
  if (unconfirmed !== null) {
    return (
      <Stack gap={1}>
        <Row gap={2}>
          <Badge tone="warn">{texts.unconfirmed}</Badge>
        </Row>
        <Text tone="soft" isSmall>
          {texts.sendsNothing(unconfirmed)}
        </Text>
      </Stack>
    )
  }
  if (paused === null) return <Badge tone="good">{texts.on}</Badge>
  return (
    <Stack gap={1}>
      <Row gap={2}>
        <Badge tone="bad">{texts.paused}</Badge>
      </Row>
      <Text tone="soft" isSmall>
        {paused.reason !== '' && `${sentence(paused.reason)} `}
        {texts.subscribeAgain}
      </Text>
    </Stack>
  )
}

interface RemoveProps {
  readonly path: string
  readonly digest: ListedDigest
  readonly onRemoved: () => void
  readonly onClose: () => void
}

function Remove({ path, digest, onRemoved, onClose }: RemoveProps) {
  const remove = async () => {
    await post(`${path}/remove`, { digest_id: digest.digest_id })
    toast({ text: texts.ended(digest.address) })
    onClose()
    onRemoved()
  }
  return (
    <ConfirmDialog
      title={texts.unsubscribeOf(digest.address)}
      confirm={texts.unsubscribe}
      onConfirm={remove}
      onClose={onClose}
    >
      <Text>{digest.segment?.name ? texts.noLongerOf(digest.segment.name) : texts.noLonger}</Text>
    </ConfirmDialog>
  )
}
