import { once, readSections } from './sections.ts'

/** Letters that Unicode does not take apart into a letter and a mark, though readers write them without. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  ø: 'o',
  æ: 'ae',
  œ: 'oe',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
}
const UNDIVIDED = /[ßøæœłđðþı]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
const ASCII = /^[\x00-\x7f]*$/
/** Marks, and characters that nobody sees: soft hyphens, joiners, directions. */
const MARKS = /[\p{M}\p{Cf}]+/gu
/** Characters of a name that are read. */
export const TEXT_MAX = 256
const SEPARATORS = /[^\p{L}\p{N}]+/u
/** `,US` or `, DE` as some lists end an AS name with. */
const COUNTRY_SUFFIX = /,\s?[A-Z]{2}$/
/** `COMCAST-7922 - Comcast Cable` and `UNI-KL Technische Universitaet`: what the registries call an as-name comes first. */
const HANDLE_WITH_DASH = /^([A-Z0-9][A-Z0-9_-]*) - (.+)$/
const HANDLE_WITH_SPACE = /^([A-Z0-9]+(?:[-_][A-Z0-9]+)+) (\S.*)$/
/** What only handles end in: `HSBC-UK-AS`, `AS-12345`. */
const HANDLE_END = /[-_](?:ASN?|\d+)$/
const HANDLE_ALONE = /^[A-Z0-9]+(?:[-_][A-Z0-9]+)+$/
export const genericWords = once(() => new Set(readSections('generic-words.txt').flatMap(({ entries }) => entries)))
/** Abbreviations that would fall apart: `S.p.A.`, `d.o.o.`, `U.S.`, `A/S`. */
const ABBREVIATION = /(?<![\p{L}\p{N}])\p{L}(?:[./]\p{L})+(?![\p{L}\p{N}])/gu

/**
 * One spelling for one word: Unicode NFKC, lower case, without diacritics and what is invisible. The word tables pass through it too, so that
 * both sides of a comparison lose the same marks.
 */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  const bare = text.normalize('NFKD').replace(MARKS, '').normalize('NFKC').toLowerCase()
  return bare.replace(UNDIVIDED, (letter) => LETTERS[letter]!)
}

/** Folded words of a name, in order; everything but letters and digits separates. Chinese, Japanese and Thai stay whole. */
export function tokens(text: string): string[] {
  const joined = text.slice(0, TEXT_MAX).replace(ABBREVIATION, (abbreviation) => abbreviation.replace(/[./]/g, ''))
  return fold(joined)
    .split(SEPARATORS)
    .filter((word) => word !== '')
}

/** Whether a folded word is a legal form, or does not tell one company from another. */
export function isGenericWord(word: string): boolean {
  return genericWords().has(word)
}

/** A name taken apart: the registry's handle, if there is one, and the description. Either may be empty. */
export interface Name {
  readonly handle: readonly string[]
  readonly description: readonly string[]
}

/** Reads an AS name in the forms that registries and lists give it: handle, description, or both. */
export function readName(text: string): Name {
  const given = text.slice(0, TEXT_MAX).trim()
  const bare = given.replace(COUNTRY_SUFFIX, '')
  const both = HANDLE_WITH_DASH.exec(bare) ?? withoutDash(bare, bare !== given)
  if (both !== null) {
    const description = tokens(both[2]!)
    // `KORABI-NET SHPK` is a name with its legal form, not a handle with a description.
    if (!description.every((word) => isGenericWord(word))) return { handle: tokens(both[1]!), description }
    return { handle: [], description: [...tokens(both[1]!), ...description] }
  }
  if (HANDLE_ALONE.test(bare)) return { handle: tokens(bare), description: [] }
  return { handle: [], description: tokens(bare) }
}

/**
 * `HI-SPEED Broadband` and `NET-KOMP Jan Kibo` are names, and begin like a handle without a dash. A handle it is in lists
 * that end in a country, when it ends as handles do, or when a word of the description begins with its first part.
 */
function withoutDash(bare: string, fromList: boolean): RegExpExecArray | null {
  const both = HANDLE_WITH_SPACE.exec(bare)
  if (both === null || fromList || HANDLE_END.test(both[1]!)) return both
  const [first] = tokens(both[1]!)
  return first !== undefined && tokens(both[2]!).some((word) => word.startsWith(first)) ? both : null
}
