import { tokens } from './normalise.ts'
import { once, readSections } from './sections.ts'
import { compileWords, findWords, wordLists } from './word-table.ts'

export const allocationWords = once(() => compileWords(wordLists(readSections('allocations.txt'))))

/**
 * The word that describes the purpose of a block, in a text in the place of an organisation's name: `dslam` in "DSLAM WAN
 * Allocation". Undefined for a name.
 */
export function allocationIn(text: string): string | undefined {
  return findWords(allocationWords(), tokens(text))[0]?.word
}
