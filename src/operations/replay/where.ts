import { createHash } from 'node:crypto'
import { InputError } from '../../run/errors.ts'
import type { Selection } from './ports.ts'

/** A condition on an event: the member at a path has this value. */
export interface Condition {
  readonly path: readonly string[]
  /** A string, or the JSON of another value. */
  readonly value: string
}

/**
 * Reads `event_type=signup`, or `properties.plan=pro`.
 * @throws InputError
 */
export function readCondition(text: string): Condition {
  const at = text.indexOf('=')
  const path = text.slice(0, Math.max(0, at)).trim()
  if (path === '') throw new InputError(`--where ${JSON.stringify(text)}: must be NAME=VALUE, like event_type=signup`)
  return { path: path.split('.'), value: text.slice(at + 1).trim() }
}

/** @param event as `JSON.parse` made it */
export function meets(event: unknown, { path, value }: Condition): boolean {
  let found: unknown = event
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return false
    found = (found as Record<string, unknown>)[name]
  }
  return (typeof found === 'string' ? found : JSON.stringify(found)) === value
}

/** Identifies a selection. It is a hash, because a condition may hold an address, and erasures do not search the place that keeps it. */
export function digestOf(asked: {
  readonly selection: Selection
  readonly where: readonly Condition[]
  readonly reenrich: boolean
}): string {
  const { selection, where, reenrich } = asked
  return createHash('sha256')
    .update(JSON.stringify([selection, where, reenrich]))
    .digest('hex')
}
