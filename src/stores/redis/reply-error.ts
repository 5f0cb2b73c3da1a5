/** The code of an error reply of Redis: its first word. Undefined for other errors. */
export function replyCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return undefined
  return /^-?([A-Z]+)\b/.exec(error.message)?.[1]
}
