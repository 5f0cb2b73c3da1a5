import { isGenericWord, tokens } from './normalise.ts'

interface Holders {
  readonly orgName?: string
  readonly domain?: string
  readonly asName?: string
  readonly asDomain?: string
}

/**
 * Whether the organisation is the holder of the AS under the same name ("Comcast Business" and "Comcast Cable
 * Communications"): then the name tells nothing of who uses the address.
 */
export function isSameHolder({ orgName, domain, asName, asDomain }: Holders): boolean {
  if (domain && asDomain && domain.toLowerCase() === asDomain.toLowerCase()) return true
  if (!orgName || !asName) return false
  const org = distinctive(orgName)
  const as = distinctive(asName)
  if (org.size === 0 || as.size === 0) return orgName === asName
  return isSubset(org, as) || isSubset(as, org)
}

function distinctive(name: string): Set<string> {
  return new Set(tokens(name).filter((word) => !isGenericWord(word) && !/^\d+$/.test(word)))
}

function isSubset(small: ReadonlySet<string>, large: ReadonlySet<string>): boolean {
  for (const word of small) if (!large.has(word)) return false
  return true
}
