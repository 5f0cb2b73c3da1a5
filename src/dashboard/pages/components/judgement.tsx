import type { Judgement } from '../../../../schemas/live-event.ts'

/** Labels of statuses. */
export const STATUS_WORDS = { ok: 'ok', filtered: 'filtered', invalid_ip: 'invalid IP' } as const
const TAGS = { ok: 'tag good', filtered: 'tag', invalid_ip: 'tag bad' } as const

export function StatusTag({ status }: Pick<Judgement, 'status'>) {
  return <span class={TAGS[status]}>{STATUS_WORDS[status]}</span>
}

/** A name, followed by details that distinguish it. */
export function CompanyName({ company, domain, country_code: country }: Judgement) {
  return (
    <>
      {company ?? <span class="soft">unknown</span>}
      <span class="soft">{[domain, country].filter((part) => part !== null).map((part) => ` ${part}`)}</span>
    </>
  )
}

export function ClassName({ classification }: Pick<Judgement, 'classification'>) {
  return <>{classification ?? <span class="soft">none</span>}</>
}
