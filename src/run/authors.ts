/** The author of changes that a command makes. */
export const COMMAND_LINE = 'command line'
/** The author of owners and statuses that are read from HubSpot. */
export const HUBSPOT = 'HubSpot'

/** Words that pages use for a person without a name, as in "An operator invites you", and for ipid itself. */
const TITLES = ['an operator', 'operator', 'an admin', 'admin', 'ipid', 'ipid support']
const AUTHORS: ReadonlySet<string> = new Set([COMMAND_LINE, HUBSPOT, ...TITLES].map((author) => author.toLowerCase()))

/** Whether a name is that of an author who is no person. The log of changes knows authors by their names. */
export function isReservedName(name: string): boolean {
  return AUTHORS.has(name.normalize('NFKC').replace(/\s+/g, ' ').trim().toLowerCase())
}
