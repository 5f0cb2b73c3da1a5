import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import type { CreateExportBody, ListedExport } from '../../../../../schemas/dashboard/exports.ts'
import { EXPORT_KEEP_MAX, EXPORT_KEEP_USUAL, LABEL_CHARS_MAX } from '../../../../../schemas/dashboard/limits.ts'
import { HowOften, TimeOfDay } from '../../components/schedule-fields.tsx'
import { Button } from '../../design/button.tsx'
import { FieldError, Select, TextInput } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Card, Page } from '../../design/page.tsx'
import { Segmented } from '../../design/tabs.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import type { PageProps } from '../../lib/page-props.ts'
import { useSegments } from '../../lib/segments.ts'
import { useUrlState } from '../../lib/url-state.ts'
import { useAction } from '../../lib/use-action.ts'
import { TEXTS } from '../../texts/texts.ts'
import { FORMAT_WORDS, scheduleWords } from './words.ts'

const texts = TEXTS.exports.new

/** A form for a new export. The URL may choose the segment. */
export function NewExport({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  return (
    <Page key={tenant} title={texts.title} back={{ href: `/t/${tenant}/exports`, label: texts.exports }} isNarrow>
      <Form tenant={tenant} />
    </Page>
  )
}

const FIELDS = ['name', 'segment', 'at', 'keep']

function Form({ tenant }: { readonly tenant: string }) {
  const [state] = useUrlState()
  const [, navigate] = useLocation()
  const { segments } = useSegments()
  const [segmentId, setSegmentId] = useState(state.get('segment') ?? '')
  const [every, setEvery] = useState<ListedExport['every']>('week')
  const [at, setAt] = useState('06:00')
  const [format, setFormat] = useState<ListedExport['format']>('csv')
  const [keep, setKeep] = useState(String(EXPORT_KEEP_USUAL))
  const [typedName, setName] = useState<string>()
  const creating = useAction()
  const segment = segments?.find(({ segment_id: id }) => id === segmentId)
  const name = typedName ?? suggestedName(segment?.name ?? '')
  const list = `/t/${tenant}/exports`
  const submit = () =>
    creating.run(async () => {
      const body: CreateExportBody = { name, segment_id: segmentId, every, at, format, keep: Number(keep) }
      const made = await post<ListedExport>(`/api/tenants/${tenant}/exports`, body)
      navigate(list)
      toast({ text: texts.created(made.name, scheduleWords(made)) })
    })
  const errorOf = (field: string) => (creating.field === field ? creating.error : undefined)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Stack gap={5}>
        <Card title={texts.what}>
          <Stack>
            {segments?.length === 0 ? (
              <Text tone="soft">
                {texts.noSegment((text) => (
                  <Link href={`/t/${tenant}/companies`}>{text}</Link>
                ))}
              </Text>
            ) : (
              <Select
                label={texts.segment}
                value={segment?.segment_id ?? ''}
                error={errorOf('segment')}
                options={[
                  { value: '', label: texts.chooseSegment },
                  ...(segments ?? []).map(({ segment_id: value, name: label }) => ({ value, label })),
                ]}
                onChange={setSegmentId}
              />
            )}
            <Row>
              <Segmented
                label={texts.format}
                value={format}
                options={Object.entries(FORMAT_WORDS).map(([value, label]) => ({ value, label }))}
                onChange={(next) => setFormat(next as ListedExport['format'])}
              />
            </Row>
          </Stack>
        </Card>
        <Card title={texts.when}>
          <Stack>
            <Row>
              <HowOften value={every} onChange={setEvery} />
            </Row>
            <TimeOfDay value={at} error={errorOf('at')} onInput={setAt} />
            <TextInput
              label={texts.keep}
              type="number"
              required
              min={1}
              max={EXPORT_KEEP_MAX}
              value={keep}
              hint={texts.aboutKeep}
              error={errorOf('keep')}
              onInput={setKeep}
            />
          </Stack>
        </Card>
        <TextInput
          label={texts.name}
          required
          maxLength={LABEL_CHARS_MAX}
          autocomplete="off"
          spellcheck={false}
          value={name}
          hint={texts.aboutName}
          error={errorOf('name')}
          onInput={setName}
        />
        <FieldError error={FIELDS.includes(creating.field ?? '') ? undefined : creating.error} />
        <Row justify="right">
          <Button onClick={() => navigate(list)}>{TEXTS.words.buttons.cancel}</Button>
          <Button type="submit" variant="primary" disabled={creating.isBusy || segment === undefined}>
            {texts.create}
          </Button>
        </Row>
      </Stack>
    </form>
  )
}

/** "Germany, big" → Germany-big */
function suggestedName(segment: string): string {
  const plain = segment.normalize('NFD').replace(/\p{M}/gu, '')
  return plain
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, LABEL_CHARS_MAX)
}
