import { type Classification, NOISE } from '../../../schemas/classification.ts'
import { classify } from '../rules/classify.ts'
import type { Evidence } from '../rules/evidence.ts'
import { isSameHolder } from '../rules/same-holder.ts'
import { readNameWords } from '../rules/score-name.ts'

/*
 * ISP data name some users as their own ISP ("Dundonald High School" in the AS of a cloud). Most of these names are access
 * providers in the AS of a larger one, or renters of a machine. So the name itself must show that it is an organisation. In
 * the AS of a cloud, a name without these words is a company.
 */

/** Moves the ISP to the user if it is one. @param stated evidence of all findings, in order of trust */
export function withOwnIsp(evidence: Evidence, stated: readonly Readonly<Evidence>[]): Evidence {
  const { ispName, asn, orgName = ispName } = evidence
  if (ispName === undefined || asn === undefined) return evidence
  if (orgName !== ispName && !isSameHolder({ orgName, asName: ispName })) return evidence
  const as = stated.find((one) => one.asn === asn && one.asName !== undefined && one.asName !== ispName)
  const { asName, asDomain, asType } = as ?? {}
  if (isSameHolder({ orgName: ispName, ...(asName && { asName }), ...(asDomain && { asDomain }) })) return evidence
  const { classification } = classify({ asn, ...(asName && { asName }), ...(asType && { asType }) })
  if (ownIspWithin(classification, ispName) === undefined) return evidence
  const { asName: _, ...rest } = evidence
  return { ...rest, orgName, ...(asName && { asName }) }
}

/** The ISP if it is the user of an address in an AS of this class. */
export function ownIspWithin(as: Classification | undefined, ispName: string | undefined): string | undefined {
  if (ispName === undefined) return undefined
  const finding = readNameWords(ispName, 'organisation')
  if (finding === undefined) return as === 'cloud' ? ispName : undefined
  return NOISE.has(finding.classification) ? undefined : ispName
}
