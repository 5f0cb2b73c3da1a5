import { remembered } from '../bounded-cache.ts'
import { once, readSections } from './sections.ts'

/** Letters that Unicode does not decompose, but that people replace by plain ones. */
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
/** Text without letters of other alphabets, and without accents. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
export const ASCII = /^[\x00-\x7f]*$/
/** Marks and invisible characters: soft hyphens, joiners, directions. */
const MARKS = /[\p{M}\p{Cf}]+/gu
/** Longer names are cut to this length in characters. */
export const TEXT_MAX = 256
const SEPARATORS = /[^\p{L}\p{N}]+/u
/** `,US` or `, DE` at the end of an AS name, as in some lists. */
const COUNTRY_SUFFIX = /,\s?[A-Z]{2}$/
/** `COMCAST-7922 - Comcast Cable` and `UNI-KL Technische Universitaet`: the handle (the registries' as-name) comes first. */
const HANDLE_WITH_DASH = /^([A-Z0-9][A-Z0-9_-]*) - (.+)$/
const HANDLE_WITH_SPACE = /^([A-Z0-9]+(?:[-_][A-Z0-9]+)+) (\S.*)$/
/** Endings that only handles have: `HSBC-UK-AS`, `AS-12345`. */
const HANDLE_END = /[-_](?:ASN?|\d+)$/
const BRACKETS = /\([^()]*\)/g
/** `1-800 Contacts`, `9471-6685 Quebec Inc.`. */
const NUMBERS_ALONE = /^[\d-]+$/
const HANDLE_ALONE = /^[A-Z0-9]+(?:[-_][A-Z0-9]+)+$/
export const genericWords = once(() => new Set(readSections('generic-words.txt').flatMap(({ entries }) => entries)))
/** Abbreviations to keep as one word: `S.p.A.`, `d.o.o.`, `U.S.`, `A/S`. */
const ABBREVIATION = /(?<![\p{L}\p{N}])\p{L}(?:[./]\p{L})+(?![\p{L}\p{N}])/gu

/**
 * One spelling for one word: Unicode NFKC, lower case, without diacritics and invisible characters. The word tables are
 * folded too, so that both sides of a comparison lose the same marks.
 */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  const bare = text.normalize('NFKD').replace(MARKS, '').normalize('NFKC').toLowerCase()
  return bare.replace(UNDIVIDED, (letter) => LETTERS[letter]!)
}

/** Longest slug, in characters. */
const SLUG_MAX = 128

/** Letters and digits of any script in lower case, without accents, joined by single hyphens. */
export function slug(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}+/gu, '')
    .replace(/['’]/g, '')
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|(?<!-)-+$/g, '')
    .slice(0, SLUG_MAX)
    .normalize('NFC')
}

/** Folded words of a name, in order. Anything but letters and digits separates words. Chinese, Japanese and Thai are not split. */
export const tokens = remembered((text): readonly string[] => {
  const joined = text.slice(0, TEXT_MAX).replace(ABBREVIATION, (abbreviation) => abbreviation.replace(/[./]/g, ''))
  return fold(joined)
    .split(SEPARATORS)
    .filter((word) => word !== '')
})

/** A text without the characters at its end. */
export function trimmedEnd(text: string, characters: ReadonlySet<string>): string {
  let end = text.length
  while (end > 0 && characters.has(text[end - 1]!)) end--
  return text.slice(0, end)
}

/** Whether a folded word is a legal form, or too common to identify a company. */
export function isGenericWord(word: string): boolean {
  return genericWords().has(word)
}

/** The two parts of a name: the registry's handle and the description. Either may be empty. */
export interface Name {
  readonly handle: readonly string[]
  readonly description: readonly string[]
}

/** The parts of an AS name of registries and lists as text: `COMCAST-7922`, `Comcast Cable`. Either may be empty. */
export function nameParts(text: string): { readonly handle: string; readonly description: string } {
  const given = text.slice(0, TEXT_MAX).trim()
  const bare = given.replace(COUNTRY_SUFFIX, '')
  const both = HANDLE_WITH_DASH.exec(bare) ?? withoutDash(bare, bare !== given)
  if (both !== null) {
    // `KORABI-NET SHPK` and `KORABI-1 (AL) Ltd` are names with their legal form, not handles with a description.
    if (!tokens(both[2]!.replace(BRACKETS, '')).every((word) => isGenericWord(word)))
      return { handle: both[1]!, description: both[2]! }
    return { handle: '', description: bare }
  }
  return HANDLE_ALONE.test(bare) ? { handle: bare, description: '' } : { handle: '', description: bare }
}

/** Parses an AS name of registries and lists: handle, description, or both. */
export const readName = remembered((text): Name => {
  const { handle, description } = nameParts(text)
  return { handle: tokens(handle), description: tokens(description) }
})

/**
 * `HI-SPEED Broadband` and `NET-KOMP Jan Kibo` are names whose first word looks like a handle. It is a handle in lists that
 * append a country, with the ending of a handle, or when a word of the description starts with its first part.
 */
function withoutDash(bare: string, fromList: boolean): RegExpExecArray | null {
  const both = HANDLE_WITH_SPACE.exec(bare)
  if (both === null || fromList) return both
  if (NUMBERS_ALONE.test(both[1]!)) return null
  if (HANDLE_END.test(both[1]!)) return both
  const [first] = tokens(both[1]!)
  return first !== undefined && tokens(both[2]!).some((word) => word.startsWith(first)) ? both : null
}
