import { isGenericWord, tokens } from './normalise.ts'

interface Holders {
  readonly orgName?: string
  readonly domain?: string
  readonly asName?: string
  readonly asDomain?: string
}

/**
 * Whether the organisation and the AS have the same holder by name ("Comcast Business" and "Comcast Cable
 * Communications"). Then the name does not identify the user of the address.
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
