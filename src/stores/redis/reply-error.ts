/** The code of an error that Redis answered: its first word, as the protocol defines it. Undefined for other errors. */
export function replyCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return undefined
  return /^-?([A-Z]+)\b/.exec(error.message)?.[1]
}
