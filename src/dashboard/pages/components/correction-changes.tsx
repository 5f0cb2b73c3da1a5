import type { CorrectedAnswer, CorrectionChange } from '../../../../schemas/dashboard/corrections.ts'
import { Badge } from '../design/badge.tsx'
import { Button } from '../design/button.tsx'
import { FieldError } from '../design/field.tsx'
import { List, Row, Text } from '../design/layout.tsx'
import { Time } from '../design/time.tsx'
import { toast } from '../design/toast.tsx'
import { post } from '../lib/api.ts'
import { useAction } from '../lib/use-action.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.correctionChanges

interface ChangesProps {
  readonly tenant: string
  readonly changes: readonly CorrectionChange[]
  /** The company whose history it is. */
  readonly companyId?: string
  /** Text when there are none. */
  readonly none: string
  readonly changed: () => void
}

/** Corrections with their authors, newest first, with a button to undo each. */
export function CorrectionChanges({ tenant, changes, companyId, none, changed }: ChangesProps) {
  const undoing = useAction()
  const undo = (change_id: string) =>
    undoing.run(async () => {
      await post<CorrectedAnswer>(`/api/tenants/${tenant}/corrections/undo`, { change_id })
      toast({ text: texts.undone })
      changed()
    })
  if (changes.length === 0) return <Text tone="soft">{none}</Text>
  return (
    <>
      <List label={texts.corrections}>
        {changes.map((change) => (
          <li key={change.change_id}>
            <Row gap={3}>
              <Text as="span">{wordsOf(change, companyId)}</Text>
              <Text as="span" tone="soft" isSmall>
                {change.by}, <Time at={change.at} />
              </Text>
              {change.undone_by !== null ? (
                <Badge>{texts.takenBack}</Badge>
              ) : (
                <Button size="s" variant="quiet" disabled={undoing.isBusy} onClick={() => undo(change.change_id)}>
                  {texts.undo}
                </Button>
              )}
            </Row>
          </li>
        ))}
      </List>
      <FieldError error={undoing.error} />
    </>
  )
}

const FIELD_WORDS: Readonly<Record<string, string>> = texts.fields

/** "hidden", "name: Acme", "tags: key account; of 12 companies", "acme.de merged into it" */
function wordsOf({ corrections, companies, undoes }: CorrectionChange, companyId: string | undefined): string {
  const [first] = corrections
  const isOther = companyId !== undefined && first !== undefined && first.company_id !== companyId
  if (isOther && first.field === 'merged_into') {
    const names = corrections.map(({ company_id }) => company_id).join(', ')
    const all = companies > corrections.length ? texts.andMore(names, companies - corrections.length) : names
    return first.value === companyId ? texts.mergedIntoIt(all) : texts.notMergedIntoIt(all)
  }
  const words =
    first === undefined
      ? texts.changed
      : first.field === 'hidden'
        ? first.value === ''
          ? texts.shownAgain
          : texts.hidden
        : texts.fieldIs(
            FIELD_WORDS[first.field] ?? first.field.replace(/^own:/, '').replaceAll('_', ' '),
            first.value.replaceAll('\n', ', ') || noneOf(first.field),
          )
  const now = undoes === null ? words : texts.takenBackNow(words)
  return companies > 1 ? texts.ofCompanies(now, companies) : now
}

function noneOf(field: string): string {
  return field === 'intent_pages' || field === 'heat_weights' ? texts.defaultOnes : texts.none
}
