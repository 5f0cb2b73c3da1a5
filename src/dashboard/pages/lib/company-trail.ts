/** The companies of one page of a list, in its order. */
export interface Trail {
  readonly ids: readonly string[]
  /** Companies on the pages before it. */
  readonly before: number
  /** Companies of the list. */
  readonly total: number
}

/** Where a company is in the list that it was opened from. */
interface Steps {
  /** Counts from 1. */
  readonly position: number
  readonly total: number
  /** Undefined: the company is the first of its page of the list. */
  readonly previous: string | undefined
  /** Undefined: the company is the last of its page of the list. */
  readonly next: string | undefined
}

/**
 * State of a link that opens a company from a list. The entry of the browser's history has it, so it survives a reload, and no other tab or
 * link to the same company has it.
 */
export const trailState = (trail: Trail) => ({ trail })

/**
 * The neighbours of a company in the list that it was opened from.
 * @param state of the entry of the history
 * @returns undefined: it was not opened from a list
 */
export function stepsOf(state: unknown, id: string): Steps | undefined {
  const { trail } = (state ?? {}) as { readonly trail?: Trail }
  const at = trail?.ids.indexOf(id) ?? -1
  if (trail === undefined || at < 0) return undefined
  const { ids, before, total } = trail
  const position = before + at + 1
  // Companies may have left the list since its number was counted.
  return { position, total: Math.max(total, position), previous: ids[at - 1], next: ids[at + 1] }
}
