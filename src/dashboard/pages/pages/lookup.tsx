import { useState } from 'preact/hooks'
import { PAGE_LOOKUP_CHARS_MAX, PAGE_LOOKUPS_MAX } from '../../../../schemas/dashboard/limits.ts'
import type { PageLookupAnswer } from '../../../../schemas/dashboard/lookup.ts'
import type { PlanAnswer } from '../../../../schemas/dashboard/plan.ts'
import { Button } from '../design/button.tsx'
import { TextArea } from '../design/field.tsx'
import { Row, Stack } from '../design/layout.tsx'
import { Page } from '../design/page.tsx'
import { post } from '../lib/api.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useAction } from '../lib/use-action.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'
import { Results } from './lookup/results.tsx'

const texts = TEXTS.lookup.page

/** Looks up addresses and shows the source of each value. */
export function Lookup({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  return <TenantLookup key={tenant} tenant={tenant} />
}

function TenantLookup({ tenant }: { readonly tenant: string }) {
  const [text, setText] = useState(() => new URLSearchParams(location.search).get('ip') ?? '')
  const [{ answer, turn }, setAnswered] = useState<{ readonly answer?: PageLookupAnswer; readonly turn: number }>({
    turn: 0,
  })
  const looking = useAction()
  const plan = useData<PlanAnswer>(`/api/tenants/${tenant}/plan`)
  const lookUp = () =>
    looking.run(async () => {
      const answer = await post<PageLookupAnswer>(`/api/tenants/${tenant}/lookup`, { text })
      setAnswered({ answer, turn: turn + 1 })
    })
  const used = answer?.quota.daily_used ?? plan.value?.lookups_today
  const limit = answer?.quota.daily_limit ?? plan.value?.limits.daily_lookups
  return (
    <Page title={texts.title} description={texts.about}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          lookUp()
        }}
      >
        <Stack gap={3}>
          <TextArea
            label={texts.addresses}
            hint={texts.upTo(
              PAGE_LOOKUPS_MAX,
              tenant,
              used === undefined || limit === undefined ? '…' : texts.used(used, limit),
            )}
            error={looking.error}
            isMono
            isMeasured
            rows={5}
            required
            maxLength={PAGE_LOOKUP_CHARS_MAX}
            spellcheck={false}
            autocomplete="off"
            placeholder={'17.253.144.10\n2620:149:af0::10'}
            value={text}
            onInput={setText}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) lookUp()
            }}
          />
          <Row>
            <Button type="submit" variant="primary" disabled={looking.isBusy}>
              {looking.isBusy ? texts.looking : texts.look}
            </Button>
          </Row>
        </Stack>
      </form>
      {answer !== undefined && <Results key={turn} answer={answer} tenant={tenant} />}
    </Page>
  )
}
