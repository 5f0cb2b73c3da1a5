import { type OwnTerm, parseOwnTerm } from '../../../companies/own-term.ts'

/** A condition on an own column. Undefined when it is invalid: links may be cut off or typed. */
export function ownTermOf(text: string): OwnTerm | undefined {
  const term = parseOwnTerm(text)
  return typeof term === 'string' ? undefined : term
}
