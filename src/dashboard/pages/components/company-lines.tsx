import './company-lines.css'
import type { ComponentChildren } from 'preact'
import { Flag } from '../design/flag.tsx'
import { Hidden } from '../design/layout.tsx'
import { sharedScale } from '../design/shared-scale.ts'
import { Sparkline } from '../design/sparkline.tsx'
import { country } from '../lib/days.ts'
import { TEXTS } from '../texts/texts.ts'
import { CompanyAvatar } from './company-avatar.tsx'
import { CompanyLink } from './company-link.tsx'

/** Keeps the flag on the line of the last word. */
const NO_BREAK = '\u00a0'

interface CompanyNumbers {
  readonly value: ComponentChildren
  readonly note: string
  /** The oldest first. */
  readonly dailyVisits: readonly number[]
}

/** A company in a short list. */
export interface CompanyLine {
  readonly company_id: string
  readonly name: string
  readonly domain: string
  readonly industry: string
  readonly country_code: string
  /** Why it is in the list. */
  readonly note: string
  /** Default: only the reason is shown. */
  readonly result?: CompanyNumbers
}

/** Companies with their names, the reason why they are listed, and their visits by day. */
export function CompanyLines({ tenant, lines }: { readonly tenant: string; readonly lines: readonly CompanyLine[] }) {
  const most = sharedScale(lines.map(({ result }) => result?.dailyVisits))
  const ids = lines.map(({ company_id: id }) => id)
  return (
    <ul class="company-lines">
      {lines.map((line) => {
        const about = [line.domain === line.name ? '' : line.domain, line.industry].filter((text) => text !== '')
        return (
          <li key={line.company_id} class="company-line">
            <CompanyAvatar tenant={tenant} company={line} size={32} />
            <div>
              <div class="company-line-name">
                <CompanyLink tenant={tenant} id={line.company_id} among={ids}>
                  {line.name}
                </CompanyLink>
                {line.country_code !== '' && (
                  <>
                    {NO_BREAK}
                    <Flag code={line.country_code} />
                    <Hidden>{country(line.country_code)}</Hidden>
                  </>
                )}
              </div>
              {about.length > 0 && <div class="company-line-about">{about.join(' · ')}</div>}
              {line.note !== '' && <div class="company-line-note">{line.note}</div>}
            </div>
            {line.result !== undefined && <Numbers {...line.result} most={most} />}
          </li>
        )
      })}
    </ul>
  )
}

function Numbers({ value, note, dailyVisits, most }: CompanyNumbers & { readonly most: number }) {
  const sum = dailyVisits.reduce((total, visits) => total + visits, 0)
  return (
    <>
      <Sparkline
        values={dailyVisits}
        days={dailyVisits.length}
        most={most}
        label={TEXTS.words.counts.visitsInDays(sum, dailyVisits.length)}
      />
      <div class="company-line-value">
        {value}
        <span>{note}</span>
      </div>
    </>
  )
}
