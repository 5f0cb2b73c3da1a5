/** The author of changes that a command makes. */
export const COMMAND_LINE = 'command line'
/** The author of owners and statuses that are read from HubSpot. */
export const HUBSPOT = 'HubSpot'

const AUTHORS: ReadonlySet<string> = new Set([COMMAND_LINE, HUBSPOT].map((author) => author.toLowerCase()))

/** Whether a name is that of an author who is no person. The log of changes knows authors by their names. */
export function isReservedName(name: string): boolean {
  return AUTHORS.has(name.toLowerCase())
}
