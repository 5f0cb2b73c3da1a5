import type { CompanyView } from '../../../../schemas/companies.ts'
import type { PageCompaniesQuery } from '../../../../schemas/dashboard/pages.ts'

/** The companies of one part of a list, in its order. */
export interface Trail {
  readonly ids: readonly string[]
  /** Companies on the parts before it. */
  readonly before: number
  /** Companies of the list. */
  readonly total: number
  /** What to ask for the next part. Undefined: there is no other part. */
  readonly list?: PartedList
}

/** A list that is asked for in parts. */
export type PartedList =
  | { readonly path: 'companies'; readonly query: CompanyView }
  | { readonly path: 'pages/companies'; readonly query: PageCompaniesQuery }

/** The way to a neighbour: its id, or the offset of the part of the list that has it. Undefined: it is the end of the list. */
export type Step = { readonly id: string } | { readonly offset: number } | undefined

/** Where a company is in the list that it was opened from. */
interface Steps {
  /** Counts from 1. */
  readonly position: number
  readonly total: number
  readonly previous: Step
  readonly next: Step
}

/**
 * State of a link that opens a company from a list. The entry of the browser's history has it, so it survives a reload, and no other tab or
 * link to the same company has it.
 */
export const trailState = (trail: Trail) => ({ trail })

/** The same for a short list that is whole. Undefined: it has one company. */
export function trailAmong(ids: readonly string[]): ReturnType<typeof trailState> | undefined {
  const all = [...new Set(ids)]
  return all.length < 2 ? undefined : trailState({ ids: all, before: 0, total: all.length })
}

/** The trail in the state of an entry of the history. */
export function trailOf(state: unknown): Trail | undefined {
  return ((state ?? {}) as { readonly trail?: Trail }).trail
}

/**
 * The neighbours of a company in the list that it was opened from.
 * @param state of the entry of the history
 * @param partRows companies of a part of the list
 * @returns undefined: it was not opened from a list
 */
export function stepsOf(state: unknown, id: string, partRows: number): Steps | undefined {
  const trail = trailOf(state)
  const at = trail?.ids.indexOf(id) ?? -1
  if (trail === undefined || at < 0) return undefined
  const { ids, before, total, list } = trail
  const position = before + at + 1
  const stepTo = (to: number, offset: number): Step => {
    if (ids[to] !== undefined) return { id: ids[to] }
    return list !== undefined && offset >= 0 && offset < total ? { offset } : undefined
  }
  return {
    position,
    // Companies may have left the list since its number was counted.
    total: Math.max(total, position),
    previous: stepTo(at - 1, before === 0 ? -1 : Math.max(0, before - partRows)),
    next: stepTo(at + 1, before + ids.length),
  }
}

/** The company to show of another part of a list, and the trail through it. Undefined: the list became shorter. */
export function trailInto(
  trail: Trail,
  part: { readonly ids: readonly string[]; readonly offset: number; readonly total: number },
): { readonly id: string; readonly trail: Trail } | undefined {
  const { ids, offset, total } = part
  // A company may have moved into this part meanwhile.
  const others = ids.filter((each) => !trail.ids.includes(each))
  const id = offset < trail.before ? others.at(-1) : others[0]
  return id === undefined ? undefined : { id, trail: { ...trail, ids, before: offset, total } }
}
