/** A condition on an own column, as a URL has it. */
export interface OwnTerm {
  readonly key: string
  readonly operator: string
  readonly value: string
}

const TERM = /^([\p{L}\p{N}_]+)(!=|>=|<=|=|>|<|~)(.+)$/u
const COMPARED = /^(?:-?\d{1,15}(?:\.\d{1,10})?|\d{4}-\d{2}-\d{2})$/

/** Undefined when it is invalid: links may be cut off or typed. */
export function ownTermOf(text: string): OwnTerm | undefined {
  const [, key, operator, value] = TERM.exec(text) ?? []
  if (key === undefined || operator === undefined || value === undefined) return undefined
  return /^[<>]/.test(operator) && !COMPARED.test(value) ? undefined : { key, operator, value }
}
