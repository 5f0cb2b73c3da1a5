/** No JSON starts with NUL. */
const MARK = '\0row '
const REASON_MAX_CHARS = 200

/**
 * A line in place of a row that is known to be no event, so that its job counts and names it as any other bad line.
 * @param reason quotes nothing of the row
 */
export function rejectedLine(reason: string): string {
  return MARK + reason.replace(/\s+/g, ' ')
}

/** Undefined for any other line. */
export function reasonOfRejected(line: string): string | undefined {
  return line.startsWith(MARK) ? line.slice(MARK.length, MARK.length + REASON_MAX_CHARS) : undefined
}
