import { tokens } from './normalise.ts'
import { once, readSections } from './sections.ts'
import { compileWords, findWords, wordLists } from './word-table.ts'

export const allocationWords = once(() => compileWords(wordLists(readSections('allocations.txt'))))

/**
 * The words that tell what a block is for, in a text that stands where an organisation's name would: "DSLAM WAN
 * Allocation". Undefined for a name.
 */
export function allocationIn(text: string): string | undefined {
  return findWords(allocationWords(), tokens(text))[0]?.word
}
