import { BellPlus, Bookmark, Ellipsis, FolderDown, Pencil, Trash2 } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { LABEL_CHARS_MAX } from '../../../../schemas/dashboard/limits.ts'
import type { ChangeSegmentBody, CreateSegmentBody, ListedSegment } from '../../../../schemas/dashboard/segments.ts'
import { Button, IconButton, LinkButton } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { FieldError, TextInput } from '../design/field.tsx'
import { Row, Stack, Text } from '../design/layout.tsx'
import { Menu } from '../design/popover.tsx'
import { toast } from '../design/toast.tsx'
import { post } from '../lib/api.ts'
import { useMay } from '../lib/may.ts'
import { isSameFilter, segmentFilter, segmentPath } from '../lib/segment-view.ts'
import { useSegments } from '../lib/segments.ts'
import { useAction } from '../lib/use-action.ts'
import { TEXTS } from '../texts/texts.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'

const texts = TEXTS.components.segmentBar

/** The segment that the list of companies shows; undefined: none. */
export function useShownSegment(state: URLSearchParams): ListedSegment | undefined {
  const id = state.get('segment')
  return useSegments().segments?.find(({ segment_id: each }) => each === id)
}

interface SegmentBarProps {
  readonly tenant: string
  readonly state: URLSearchParams
  readonly isFiltered: boolean
}

type Shown = 'save' | 'rename' | 'remove' | undefined

/** Saves the filters of the list as a segment, and changes the segment that it shows. */
export function SegmentBar(props: SegmentBarProps) {
  return useMay('member') ? <Bar {...props} /> : null
}

function Bar({ tenant, state, isFiltered }: SegmentBarProps) {
  const segment = useShownSegment(state)
  const [, navigate] = useLocation()
  const { reload } = useSegments()
  const [dialog, setDialog] = useState<Shown>()
  const updating = useAction()
  const filter = segmentFilter(state)
  const isChanged = segment !== undefined && !isSameFilter(filter, segment.filter)
  const path = `/api/tenants/${tenant}/segments`
  const close = () => setDialog(undefined)
  const opened = (next: ListedSegment, text: string) => {
    close()
    reload()
    navigate(segmentPath(tenant, next))
    toast({ text })
  }
  const update = () =>
    updating.run(async () => {
      const body: ChangeSegmentBody = { segment_id: segment!.segment_id, filter }
      opened(await post<ListedSegment>(`${path}/change`, body), texts.updated(segment!.name))
    })
  return (
    <>
      <FieldError error={updating.error} />
      {isChanged && (
        <Button size="s" disabled={updating.isBusy} onClick={update}>
          {texts.update}
        </Button>
      )}
      {isFiltered && (segment === undefined || isChanged) && (
        <Button size="s" variant={isChanged ? 'quiet' : undefined} icon={Bookmark} onClick={() => setDialog('save')}>
          {isChanged ? texts.saveAsNew : texts.saveAs}
        </Button>
      )}
      {segment !== undefined && (
        <>
          {!isChanged && (
            <LinkButton
              size="s"
              icon={BellPlus}
              href={`/t/${tenant}/alerts/new?${new URLSearchParams({ segment: segment.segment_id })}`}
            >
              {texts.tellMe}
            </LinkButton>
          )}
          <Menu
            label={texts.actions(segment.name)}
            align="end"
            trigger={(props) => (
              <IconButton size="s" icon={Ellipsis} label={texts.actionsOfSegment(segment.name)} {...props} />
            )}
            entries={[
              {
                label: texts.export,
                icon: FolderDown,
                href: `/t/${tenant}/exports/new?${new URLSearchParams({ segment: segment.segment_id })}`,
              },
              { label: texts.rename, icon: Pencil, onSelect: () => setDialog('rename') },
              { label: texts.remove, icon: Trash2, isDanger: true, onSelect: () => setDialog('remove') },
            ]}
          />
        </>
      )}
      {dialog === 'save' && (
        <NameDialog
          title={texts.saveAs}
          verb={texts.save}
          name=""
          about={texts.about(daysText(filter))}
          save={async (name) => {
            const body: CreateSegmentBody = { name, filter }
            opened(await post<ListedSegment>(path, body), texts.saved(name.trim()))
          }}
          onClose={close}
        />
      )}
      {dialog === 'rename' && (
        <NameDialog
          title={texts.renameOf(segment!.name)}
          verb={texts.rename}
          name={segment!.name}
          about={texts.aboutName}
          save={async (name) => {
            await post<ListedSegment>(`${path}/change`, { segment_id: segment!.segment_id, name })
            close()
            reload()
          }}
          onClose={close}
        />
      )}
      {dialog === 'remove' && (
        <RemoveSegment
          segment={segment!}
          path={path}
          onRemoved={() => {
            close()
            toast({ text: texts.removed(segment!.name) })
            navigate(`/t/${tenant}/companies`)
            reload()
          }}
          onClose={close}
        />
      )}
    </>
  )
}

function daysText({ days, from, to }: ReturnType<typeof segmentFilter>): string {
  if (days !== undefined) return days === 1 ? texts.currentDay : texts.lastDays(days)
  if (from === undefined && to === undefined) return texts.allTime
  return texts.days(from, to)
}

interface NameDialogProps {
  readonly title: string
  readonly verb: string
  readonly name: string
  readonly about: preact.ComponentChildren
  readonly save: (name: string) => Promise<void>
  readonly onClose: () => void
}

function NameDialog({ title, verb, name, about, save, onClose }: NameDialogProps) {
  const [typed, setTyped] = useState(name)
  const saving = useAction()
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          saving.run(() => save(typed))
        }}
      >
        <Stack>
          <Text tone="soft">{about}</Text>
          <TextInput
            label={texts.name}
            required
            maxLength={LABEL_CHARS_MAX}
            autocomplete="off"
            value={typed}
            error={saving.error}
            onInput={setTyped}
          />
          <Row justify="right">
            <Button onClick={onClose}>{TEXTS.words.buttons.cancel}</Button>
            <Button type="submit" variant="primary" disabled={saving.isBusy}>
              {verb}
            </Button>
          </Row>
        </Stack>
      </form>
    </Dialog>
  )
}

interface RemoveSegmentProps {
  readonly segment: ListedSegment
  readonly path: string
  readonly onRemoved: () => void
  readonly onClose: () => void
}

function RemoveSegment({ segment, path, onRemoved, onClose }: RemoveSegmentProps) {
  const remove = async () => {
    await post(`${path}/remove`, { segment_id: segment.segment_id })
    onRemoved()
  }
  return (
    <ConfirmDialog title={texts.removeOf(segment.name)} confirm={texts.remove} onConfirm={remove} onClose={onClose}>
      <Text>{texts.stay}</Text>
    </ConfirmDialog>
  )
}
