import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import { companyPath } from '../lib/company-links.ts'
import { trailAmong } from '../lib/company-trail.ts'

interface CompanyLinkProps {
  readonly tenant: string
  readonly id: string
  /** Ids of all companies of its list: the page of the company leads to the next one. */
  readonly among: readonly string[]
  readonly children: ComponentChildren
}

/** A link to a company in a short list. */
export function CompanyLink({ tenant, id, among, children }: CompanyLinkProps) {
  return (
    <Link href={companyPath(tenant, id)} state={trailAmong(among)}>
      {children}
    </Link>
  )
}
