import './company-lines.css'
import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import { Flag } from '../design/flag.tsx'
import { Hidden } from '../design/layout.tsx'
import { Sparkline } from '../design/sparkline.tsx'
import { companyPath } from '../lib/company-links.ts'
import { country } from '../lib/days.ts'
import { counted } from '../lib/format.ts'
import { CompanyAvatar } from './company-avatar.tsx'

/** A company in a short list. */
export interface CompanyLine {
  readonly company_id: string
  readonly name: string
  readonly domain: string
  readonly industry: string
  readonly country_code: string
  /** Why it is in the list. */
  readonly note: string
  readonly value: ComponentChildren
  readonly valueNote: string
  /** The oldest first. */
  readonly dailyVisits: readonly number[]
}

/** Companies with their names, the reason why they are listed, and their visits by day. */
export function CompanyLines({ tenant, lines }: { readonly tenant: string; readonly lines: readonly CompanyLine[] }) {
  const most = Math.max(0, ...lines.flatMap(({ dailyVisits }) => dailyVisits))
  return (
    <ul class="company-lines">
      {lines.map((line) => {
        const about = [line.domain === line.name ? '' : line.domain, line.industry].filter((text) => text !== '')
        const sum = line.dailyVisits.reduce((total, visits) => total + visits, 0)
        return (
          <li key={line.company_id} class="company-line">
            <CompanyAvatar tenant={tenant} company={line} size={32} />
            <div>
              <div class="company-line-name">
                <Link href={companyPath(tenant, line.company_id)}>{line.name}</Link>
                {line.country_code !== '' && (
                  <>
                    <Flag code={line.country_code} />
                    <Hidden>{country(line.country_code)}</Hidden>
                  </>
                )}
              </div>
              {about.length > 0 && <div class="company-line-about">{about.join(' · ')}</div>}
              {line.note !== '' && <div class="company-line-note">{line.note}</div>}
            </div>
            <Sparkline
              values={line.dailyVisits}
              days={line.dailyVisits.length}
              most={most}
              label={`${counted(sum, 'visit')} in ${line.dailyVisits.length} days`}
            />
            <div class="company-line-value">
              {line.value}
              <span>{line.valueNote}</span>
            </div>
          </li>
        )
      })}
    </ul>
  )
}
