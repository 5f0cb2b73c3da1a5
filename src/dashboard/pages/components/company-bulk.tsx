import { Eye, EyeOff, GitMerge, MessageSquare, MoreHorizontal, Tag, User, UserCheck } from 'lucide-preact'
import { useState } from 'preact/hooks'
import type { CompanyRow } from '../../../../schemas/companies.ts'
import { Button, IconButton } from '../design/button.tsx'
import { FieldError } from '../design/field.tsx'
import { Row, Text } from '../design/layout.tsx'
import { Menu } from '../design/popover.tsx'
import { companyNames } from '../lib/company-names.ts'
import { correct } from '../lib/corrections.ts'
import { useMay } from '../lib/may.ts'
import { useAction } from '../lib/use-action.ts'
import { TEXTS } from '../texts/texts.ts'
import { CorrectDialog, type CorrectTask } from './correct-dialog.tsx'
import { MergeDialog } from './merge-dialog.tsx'

const texts = TEXTS.components.companyBulk

interface BulkProps {
  readonly tenant: string
  /** The chosen companies; at least one. */
  readonly companies: readonly CompanyRow[]
  /** How many of them the shown page of the list does not have. */
  readonly elsewhere: number
  readonly changed: () => void
  readonly onClear: () => void
}

/** Actions on the chosen companies of a list, each one change that can be undone. */
export function CompanyBulk(props: BulkProps) {
  return useMay('member') ? <Bulk {...props} /> : null
}

function Bulk({ tenant, companies, elsewhere, changed, onClear }: BulkProps) {
  const [task, setTask] = useState<CorrectTask | 'merge'>()
  const hiding = useAction()
  const setHidden = (hidden: boolean) =>
    hiding.run(async () => {
      const done = (hidden ? texts.hidden : texts.shown)(companyNames(companies), companies.length)
      await correct(tenant, { companies: companies.map(({ company_id }) => company_id), hidden }, done, changed)
      onClear()
    })
  const isHidden = companies.every(({ hidden }) => hidden)
  const dialog = {
    ...{ tenant, companies },
    changed() {
      changed()
      onClear()
    },
    onClose: () => setTask(undefined),
  }
  return (
    <Row gap={2}>
      <Text as="span" role="status">
        {elsewhere > 0 ? texts.chosenElsewhere(companies.length, elsewhere) : texts.chosen(companies.length)}
      </Text>
      <Button size="s" icon={isHidden ? Eye : EyeOff} disabled={hiding.isBusy} onClick={() => setHidden(!isHidden)}>
        {isHidden ? texts.showAgain : texts.hide}
      </Button>
      <Button size="s" icon={Tag} onClick={() => setTask('add tags')}>
        {texts.addTags}
      </Button>
      <Menu
        label={texts.moreForChosen}
        trigger={(props) => <IconButton {...props} icon={MoreHorizontal} label={texts.more} size="s" />}
        entries={[
          { label: texts.removeTags, icon: Tag, onSelect: () => setTask('remove tags') },
          { label: texts.status, icon: UserCheck, onSelect: () => setTask('status') },
          { label: texts.owner, icon: User, onSelect: () => setTask('owner') },
          { label: texts.note, icon: MessageSquare, onSelect: () => setTask('note') },
          { label: texts.merge, icon: GitMerge, onSelect: () => setTask('merge') },
        ]}
      />
      <Button size="s" variant="quiet" onClick={onClear}>
        {texts.clear}
      </Button>
      <FieldError error={hiding.error} />
      {task === 'merge' && <MergeDialog {...dialog} />}
      {task !== undefined && task !== 'merge' && <CorrectDialog key={task} task={task} {...dialog} />}
    </Row>
  )
}
