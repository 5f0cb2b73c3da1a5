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
import { ConfirmDialog } from './confirm-dialog.tsx'

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
      opened(await post<ListedSegment>(`${path}/change`, body), `${segment!.name} has the filters of this list now.`)
    })
  return (
    <>
      <FieldError error={updating.error} />
      {isChanged && (
        <Button size="s" disabled={updating.isBusy} onClick={update}>
          Update segment
        </Button>
      )}
      {isFiltered && (segment === undefined || isChanged) && (
        <Button size="s" variant={isChanged ? 'quiet' : undefined} icon={Bookmark} onClick={() => setDialog('save')}>
          {isChanged ? 'Save as new' : 'Save as segment'}
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
              Tell me when a company enters
            </LinkButton>
          )}
          <Menu
            label={`Actions for ${segment.name}`}
            align="end"
            trigger={(props) => (
              <IconButton size="s" icon={Ellipsis} label={`Actions for segment ${segment.name}`} {...props} />
            )}
            entries={[
              {
                label: 'Export it regularly',
                icon: FolderDown,
                href: `/t/${tenant}/exports/new?${new URLSearchParams({ segment: segment.segment_id })}`,
              },
              { label: 'Rename segment', icon: Pencil, onSelect: () => setDialog('rename') },
              { label: 'Remove segment', icon: Trash2, isDanger: true, onSelect: () => setDialog('remove') },
            ]}
          />
        </>
      )}
      {dialog === 'save' && (
        <NameDialog
          title="Save as segment"
          verb="Save segment"
          name=""
          about={
            <>
              A name for these filters. It keeps their values, and looks at {daysText(filter)}. The segment is in the
              navigation under Companies, for everybody who sees this tenant.
            </>
          }
          save={async (name) => {
            const body: CreateSegmentBody = { name, filter }
            opened(await post<ListedSegment>(path, body), `${name.trim()} is saved.`)
          }}
          onClose={close}
        />
      )}
      {dialog === 'rename' && (
        <NameDialog
          title={`Rename ${segment!.name}`}
          verb="Rename segment"
          name={segment!.name}
          about="Messages of its alerts have the new name from now on."
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
            toast({ text: `${segment!.name} was removed.` })
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
  if (days !== undefined) return days === 1 ? 'the current day' : `the last ${days} days`
  if (from === undefined && to === undefined) return 'all time'
  return `the days ${[from && `from ${from}`, to && `to ${to}`].filter(Boolean).join(' ')}`
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
            label="Name of the segment"
            required
            maxLength={LABEL_CHARS_MAX}
            autocomplete="off"
            value={typed}
            error={saving.error}
            onInput={setTyped}
          />
          <Row justify="right">
            <Button onClick={onClose}>Cancel</Button>
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
    <ConfirmDialog title={`Remove ${segment.name}?`} confirm="Remove segment" onConfirm={remove} onClose={onClose}>
      <Text>The companies stay: only the saved filter goes, for everybody who sees this tenant.</Text>
    </ConfirmDialog>
  )
}
