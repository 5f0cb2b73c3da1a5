import { percent } from './format.ts'

/** Says why a value was derived from a word of the organisation's name. */
export function wordNote(word: string, precision: number | null): string {
  return `word "${word}", right in ${percent(precision ?? 0)}`
}
