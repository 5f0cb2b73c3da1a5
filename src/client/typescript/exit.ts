/** What the end of the process concerns. */
export interface Exiting {
  readonly counts: { readonly queued: number }
  /** Delivers what it has, within its limit of time. */
  drain(): Promise<void>
  /** Reports what is left as failed: nothing can be sent any more. */
  abandon(): void
}

const open = new Set<Exiting>()

/**
 * Lets it deliver when the process has nothing else to do, and report what is left when the process ends by `process.exit`.
 * @returns ends that
 */
export function atExit(exiting: Exiting): () => void {
  if (open.size === 0) process.on('beforeExit', drainAll).on('exit', abandonAll)
  open.add(exiting)
  return () => {
    if (!open.delete(exiting) || open.size > 0) return
    process.off('beforeExit', drainAll).off('exit', abandonAll)
  }
}

/** Node.js calls it again when the deliveries have ended. */
function drainAll(): void {
  for (const exiting of open) if (exiting.counts.queued > 0) void exiting.drain()
}

function abandonAll(): void {
  for (const exiting of open) exiting.abandon()
}
