import { useState } from 'preact/hooks'
import type { ListedSource, SourceSetup } from '../../../../../schemas/dashboard/sources.ts'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { CodeBlock, CodeLine } from '../../design/code.tsx'
import { Disclosure } from '../../design/details.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError, TextInput } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Notice, Problem } from '../../design/notice.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { post } from '../../lib/api.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.sources.setup

/** More blocks than these: people see the first one, and the titles of the others. */
const BLOCKS_OPEN_MAX = 8

type Block = SourceSetup['blocks'][number]

/** The blocks that people paste, each with a button that copies exactly it. Samples have none, because they must be edited first. */
export function SetupBlocks({ setup: { blocks, warning } }: { readonly setup: SourceSetup }) {
  const open = blocks.length > BLOCKS_OPEN_MAX ? blocks.slice(0, 1) : blocks
  const more = blocks.slice(open.length)
  return (
    <Stack gap={4}>
      {warning !== null && (
        <Notice tone="warn">
          <p>{warning}</p>
        </Notice>
      )}
      {open.map((block) => (
        <Stack gap={2} key={block.title}>
          <Row gap={2}>
            <h3>{block.title}</h3>
            {block.is_sample && <SampleBadge />}
          </Row>
          <BlockText block={block} />
        </Stack>
      ))}
      {more.length > 0 && (
        <Stack gap={2}>
          <h3>{texts.moreWays}</h3>
          {more.map((block) => (
            <Disclosure key={block.title} summary={block.title}>
              <Stack gap={2}>
                {block.is_sample && (
                  <Row>
                    <SampleBadge />
                  </Row>
                )}
                <BlockText block={block} />
              </Stack>
            </Disclosure>
          ))}
        </Stack>
      )}
    </Stack>
  )
}

function SampleBadge() {
  return <Badge>{texts.sample}</Badge>
}

function BlockText({ block: { title, about, code, is_sample: isSample } }: { readonly block: Block }) {
  return (
    <>
      {about !== null && <Text tone="soft">{about}</Text>}
      <CodeBlock text={code} label={title} isWrapped isPlain={isSample} />
    </>
  )
}

/** The browser key, which is in the texts too. */
export function BrowserKey({ value }: { readonly value: string }) {
  return (
    <Stack gap={2}>
      <h3>{texts.browserKey}</h3>
      <CodeLine text={value} label={texts.browserKey} />
    </Stack>
  )
}

/** The blocks of an existing source. Its server key is not known any more. */
export function ShowSetup({
  tenant,
  source,
  onClose,
}: {
  readonly tenant: string
  readonly source: ListedSource
  readonly onClose: () => void
}) {
  const { value, error, reload } = useData<SourceSetup>(`/api/tenants/${tenant}/sources/setup`, {
    source: source.source_id,
  })
  return (
    <Dialog
      title={texts.title(source.name ?? source.title)}
      isWide
      onClose={onClose}
      actions={<Button onClick={onClose}>{TEXTS.words.buttons.close}</Button>}
    >
      <Stack gap={4}>
        {error !== undefined && <Problem error={error} onRetry={reload} />}
        {value === undefined && error === undefined && <Loading rows={4} />}
        {value !== undefined && (
          <>
            {value.blocks.some(({ key }) => key !== null) && (
              <Base key={value.base} tenant={tenant} source={source} base={value.base} onChanged={reload} />
            )}
            <SetupBlocks setup={value} />
            {value.browser_key !== null && <BrowserKey value={value.browser_key} />}
            {value.note !== null && <Text tone="soft">{value.note}</Text>}
          </>
        )}
      </Stack>
    </Dialog>
  )
}

/** The address of the API in the text. */
function Base({
  tenant,
  source,
  base,
  onChanged,
}: {
  readonly tenant: string
  readonly source: ListedSource
  readonly base: string
  readonly onChanged: () => void
}) {
  const [text, setText] = useState(base)
  const { isBusy, error, run } = useAction()
  const save = () =>
    run(async () => {
      const body = { source_id: source.source_id, base: text.trim() }
      await post<ListedSource>(`/api/tenants/${tenant}/sources/set`, body)
      onChanged()
    })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
    >
      <Stack gap={2}>
        <TextInput type="url" label={texts.address} required maxLength={300} value={text} onInput={setText} />
        <FieldError error={error} />
        {text.trim() !== base && (
          <Row>
            <Button type="submit" size="s" disabled={isBusy}>
              {texts.useAddress}
            </Button>
          </Row>
        )}
      </Stack>
    </form>
  )
}
