import { useContext, useState } from 'preact/hooks'
import {
  INTENT_PAGES,
  type IntentPageMatch,
  type IntentPageMatchesAnswer,
  type IntentPagesAnswer,
  type IntentPagesWanted,
} from '../../../../../schemas/dashboard/intent-pages.ts'
import { CorrectionChanges } from '../../components/correction-changes.tsx'
import { Button } from '../../design/button.tsx'
import { Disclosure } from '../../design/details.tsx'
import { FieldError, TextInput } from '../../design/field.tsx'
import { Grow, Row, Stack, Text } from '../../design/layout.tsx'
import { Problem, sentence } from '../../design/notice.tsx'
import { Card, Section } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { Table } from '../../design/table.tsx'
import { changeSetting } from '../../lib/corrections.ts'
import { HeatLevelsContext } from '../../lib/heat.ts'
import { useAction } from '../../lib/use-action.ts'
import { type Data, useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.settings.intent

/** The pages that show an intent to buy, which heat looks for. */
export function IntentPages({ tenant }: { readonly tenant: string }) {
  const path = `/api/tenants/${tenant}/intent-pages`
  const list = useData<IntentPagesAnswer>(path)
  const matches = useData<IntentPageMatchesAnswer>(`${path}/matches`)
  const levels = useContext(HeatLevelsContext)
  const restoring = useAction()
  const changed = () => {
    list.reload()
    matches.reload()
    levels.reload()
  }
  const change = (wanted: IntentPagesWanted, done: string) =>
    changeSetting(tenant, 'intent-pages', wanted, done, changed)
  const { value } = list
  return (
    <Section
      title={texts.title}
      description={texts.about}
      actions={
        value?.is_default === false && (
          <Button
            disabled={restoring.isBusy}
            onClick={() => restoring.run(() => change({ pages: [] }, texts.restored))}
          >
            {texts.restore}
          </Button>
        )
      }
    >
      <FieldError error={restoring.error} />
      {value === undefined ? (
        list.error === undefined ? (
          <Loading rows={6} />
        ) : (
          <Problem error={list.error} onRetry={list.reload} />
        )
      ) : (
        <>
          <Pages list={value} matches={matches} change={change} />
          <AddPage change={change} />
          <Disclosure summary={texts.history}>
            <CorrectionChanges tenant={tenant} changes={value.changes} none={texts.areDefault} changed={changed} />
          </Disclosure>
        </>
      )}
    </Section>
  )
}

interface ChangeProps {
  readonly change: (wanted: IntentPagesWanted, done: string) => Promise<void>
}

interface PagesProps extends ChangeProps {
  readonly list: IntentPagesAnswer
  readonly matches: Data<IntentPageMatchesAnswer>
}

/** Pages that a person chose are all shown; default ones that match nothing are one line that opens. */
function Pages({ list: { pages, is_default }, matches, change }: PagesProps) {
  const { value, error } = matches
  if (!is_default || error !== undefined) return <PageTable pages={pages} matches={matches} change={change} />
  if (value === undefined) return <Loading rows={3} />
  const unread = new Set(value.matches.filter(({ read_pages }) => read_pages === 0).map(({ page }) => page))
  const read = pages.filter((page) => !unread.has(page))
  return (
    <>
      {read.length > 0 && <PageTable pages={read} matches={matches} change={change} />}
      {unread.size > 0 && (
        <Disclosure summary={texts.unread(unread.size)}>
          <PageTable pages={pages.filter((page) => unread.has(page))} matches={matches} change={change} />
        </Disclosure>
      )}
    </>
  )
}

function PageTable({
  pages,
  matches,
  change,
}: ChangeProps & { readonly pages: readonly string[]; readonly matches: Data<IntentPageMatchesAnswer> }) {
  const removing = useAction()
  const byPage = new Map(matches.value?.matches.map((match) => [match.page, match]))
  return (
    <>
      <Table
        label={texts.title}
        rows={pages}
        keyOf={(page) => page}
        columns={[
          { key: 'page', label: texts.page, text: 'wrap', render: (page) => <code>{page}</code> },
          {
            key: 'matches',
            label: texts.matches,
            inCard: 'whole',
            text: 'wrap',
            render: (page) => <Matches match={byPage.get(page)} isUnknown={matches.error !== undefined} />,
          },
          {
            key: 'actions',
            label: TEXTS.words.fields.actions,
            isLabelHidden: true,
            isActions: true,
            render: (page) => (
              <Button
                size="s"
                aria-label={texts.removeOf(page)}
                disabled={removing.isBusy}
                onClick={() => removing.run(() => change({ remove: [page] }, texts.removed(page)))}
              >
                {TEXTS.words.buttons.remove}
              </Button>
            ),
          },
        ]}
      />
      <FieldError error={removing.error ?? matches.error?.message} />
    </>
  )
}

/** "12 pages read in 90 days, such as /pricing" */
function Matches({ match, isUnknown }: { readonly match: IntentPageMatch | undefined; readonly isUnknown: boolean }) {
  if (match === undefined) return <Text tone="soft">{isUnknown ? '–' : '…'}</Text>
  const { read_pages: count, example } = match
  if (count === 0) return <Text tone="soft">{texts.noneRead(INTENT_PAGES.countedDays)}</Text>
  return <Text>{texts.read(count, INTENT_PAGES.countedDays, <code>{example}</code>)}</Text>
}

function AddPage({ change }: ChangeProps) {
  const [page, setPage] = useState('')
  const adding = useAction()
  return (
    <Card title={texts.addTitle}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          adding.run(async () => {
            await change({ add: [page] }, texts.added(page.trim()))
            setPage('')
          })
        }}
      >
        <Stack gap={2}>
          <Row align="end">
            <Grow>
              <TextInput
                label={texts.words}
                value={page}
                required
                placeholder="/book-a-demo"
                autocomplete="off"
                spellcheck={false}
                onInput={(text) => {
                  setPage(text)
                  adding.reset()
                }}
              />
            </Grow>
            <Button type="submit" disabled={adding.isBusy}>
              {texts.add}
            </Button>
          </Row>
          <FieldError error={adding.error === undefined ? undefined : sentence(adding.error)} />
          <Text tone="soft" isSmall>
            {texts.aboutWords}
          </Text>
        </Stack>
      </form>
    </Card>
  )
}
