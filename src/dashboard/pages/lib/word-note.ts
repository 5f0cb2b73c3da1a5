import { TEXTS } from '../texts/texts.ts'
import { percent } from './format.ts'

const texts = TEXTS.lib.wordNote

/** Says why a value was derived from a word of the organisation's name. */
export function wordNote(word: string, precision: number | null): string {
  return texts.note(word, percent(precision ?? 0))
}
