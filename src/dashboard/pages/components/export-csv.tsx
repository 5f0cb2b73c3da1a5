import { Download } from 'lucide-preact'
import type { CompanyView } from '../../../../schemas/companies.ts'
import type { ChosenCompaniesExport } from '../../../../schemas/dashboard/companies.ts'
import { Button, LinkButton } from '../design/button.tsx'
import { FieldError } from '../design/field.tsx'
import { download, queryText } from '../lib/api.ts'
import { number } from '../lib/format.ts'
import { useAction } from '../lib/use-action.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.exportCsv

interface ExportCsvProps {
  readonly tenant: string
  readonly view: CompanyView
  /** Columns to leave out. */
  readonly hide: string[]
  /** Ids of the chosen companies; none: all of the view. */
  readonly chosen: string[]
}

/** Saves the chosen companies of a list, or all of it. */
export function ExportCsv({ tenant, view, hide, chosen }: ExportCsvProps) {
  const saving = useAction()
  const path = `/api/tenants/${tenant}/companies/export`
  if (chosen.length === 0) {
    return (
      <LinkButton icon={Download} href={`${path}${queryText({ ...view, hide })}`} isDownload>
        {texts.exportAll}
      </LinkButton>
    )
  }
  const body: ChosenCompaniesExport = { ...view, hide, companies: chosen }
  return (
    <>
      <FieldError error={saving.error} />
      <Button icon={Download} disabled={saving.isBusy} onClick={() => saving.run(() => download(path, body))}>
        {texts.exportChosen(number(chosen.length))}
      </Button>
    </>
  )
}
