import { decidedFacts, type Facts } from '../../facts.ts'
import { readDecided } from '../../rules/decided.ts'
import type { OpenRangeFile } from './range-file.ts'

/** Members of a record about an AS, in the order of `readDecidedRecord`. */
const AS_MEMBERS = [
  'autonomous_system_number',
  'autonomous_system_organization',
  'announced_ipv4_addresses',
  'announces_ipv6',
  'announced_ipv4_scatter',
] as const

/** Whether records have just these members, so that decisions may be added to them. */
export function isAboutSystems(members: readonly string[]): boolean {
  return AS_MEMBERS.length === members.length && AS_MEMBERS.every((name, i) => members[i] === name)
}

/**
 * The facts of a record with a decision: those that `recordReader` makes, in a quarter of the time.
 * @returns undefined for a record without a decision
 */
export function readDecidedRecord(values: ReturnType<OpenRangeFile['values']>): Facts | undefined {
  const [asn, name, asAddresses, hasV6, asScatter, ...stored] = values
  if (typeof stored[0] !== 'string') return undefined
  const [number, text] = [asn as number, name as string]
  const space = { asAddresses: asAddresses as number, asHasV6: hasV6 === 1, asScatter: asScatter as number }
  const data = { org_name: text, asn: number, as_name: text }
  return decidedFacts(data, { asn: number, asName: text, ...space }, readDecided(text, stored))
}
