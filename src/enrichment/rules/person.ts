import { bareName } from './business-name.ts'
import { fold, isGenericWord, nameParts, tokens } from './normalise.ts'
import { knownNames, nameWords } from './score-name.ts'
import { once, readSections } from './sections.ts'
import { findSpans, findWords, type Hit } from './word-table.ts'

/** The tables of `data/person-names.txt`, folded. */
interface PersonNames {
  readonly given: ReadonlySet<string>
  /** Given names that are also surnames or words. */
  readonly ambiguous: ReadonlySet<string>
  readonly surnames: ReadonlySet<string>
  readonly surnameEndings: readonly string[]
  /** Endings of names after the father: `-ovich`. */
  readonly patronymics: readonly string[]
  /** Words that no person's name has. */
  readonly words: ReadonlySet<string>
  /** Whole names of companies that are named like a person. */
  readonly companies: ReadonlySet<string>
}

export const personNames = once(readNames)

/** An AS with this many IPv4 addresses is no private person's. */
export const PERSON_ADDRESSES_MAX = 2 ** 14

/** Most words of a person's name, without particles. */
const WORDS_MAX = 6
/** Most words of which nothing is known, next to a given name. */
const UNKNOWN_MAX = 2
/** A word with a heavier hit in the word tables is no part of a name. */
const TRADE_WEIGHT_MIN = 2
const ENDING_WORD_MIN = 5

/**
 * Whether a name is a private person's: it consists of people's names, and has no legal form, trade word or trade name. The
 * marks of sole traders (`FOP`, `- ME`, `PR`) may stand next to it, and a registry's handle before it. Rather misses a person
 * than takes a company for one.
 * @param name a name from any provider, in Latin or Cyrillic letters
 */
export function isPersonName(name: string): boolean {
  if (name.length > NAME_MAX || /[\d@&]/.test(name.replace(LEADING_NUMBER, ''))) return false
  const { text, isTrader } = withoutTraderMarks(withoutHandle(name))
  return text.includes(' ') && !hasAbbreviation(text) && isPerson(tokens(text), isTrader) && !hasLegalForm(text)
}

/** `Sharon AI`, `VNPT Kim Hoang`: capitals next to a word in mixed case, or without a vowel. */
function hasAbbreviation(text: string): boolean {
  const isMixed = /\p{Ll}/u.test(text)
  return text
    .split(/[^\p{L}\p{M}.'’]+/u)
    .some(
      (word) => /^\p{Lu}{2,}$/u.test(word) && (isMixed ? word.length <= 3 && !isName(fold(word)) : !VOWEL.test(word)),
    )
}

const VOWEL = /[AEIOUYÀ-ÝĀ-ŽА-Я]/u

function isName(word: string): boolean {
  const { given, ambiguous, surnames } = personNames()
  return given.has(word) || ambiguous.has(word) || surnames.has(word) || PARTICLES.has(word)
}

/** Longest name of a person with marks and handle, in characters. */
const NAME_MAX = 100
const LEADING_NUMBER = /^AS\d+ (?:- )?/

/** Marks of sole traders before and after their names. Brazil: ME, MEI; Romania: I.I.; Serbia: PR and the town. */
const TRADER_BEFORE =
  /^(?:(?:SPD|CPD|FL) )?(?:F\.?O\.?P\.?|FO-P|P\.?E\.?|I\.?P\.?|I\.?E\.?|SP-D|SPD|FLP|CHP|PFA|I\.I\.|II|ИП|ФОП|ФЛП|(?:private|individual|sole) (?:entrep\p{L}+|enterp\p{L}+|proprietor|trader|person)|entrepreneur|enterpreneur|phys?ical person(?:[- ](?:businessman|entrepreneur))?|fizichna osoba[- ]pidpri?y?emec|natural person|sole trader) (?=\S)/iu
const TRADER_AFTER =
  /(?:,? ?- ?|,? |,)(?:ME|M\.E\.?|MEI|EI|FOP|F\.O\.P\.?|PE|P\.E\.|IP|I\.P\.|SPD|I\.I\.|II|PFA|(?:intreprindere|întreprindere) individual[aă]|e\.?K\.?|e\.?U\.?|(?:private|individual) entrepreneur)$/iu
/** `Ivo Kibo PR Beograd`: at most two words follow the mark. */
const SERBIAN_TRADER = /^(.+) PR(?:,? [\p{L}.]+){0,2}$/u
const TITLE = /^(?:mr|mrs|ms|dr|ing|mag|dipl\.? ?-?ing|prof|di|sr|sra)\.? (?=\p{L}+[ .])/iu

function withoutTraderMarks(name: string): { text: string; isTrader: boolean } {
  const serbian = SERBIAN_TRADER.exec(name)?.[1]
  const before = (serbian ?? name).replace(TRADER_BEFORE, '')
  const bare = before.replace(TRADER_AFTER, '').trim()
  return { text: bare.replace(TITLE, ''), isTrader: bare !== name }
}

/**
 * The name after a registry's handle. Registries put any word there: `NetRealm-AS Ivo Kibo`, `Ivo-Kibo Ivo Kibo`, `kibo Ivo
 * Kibo`, `IvoKibo Ivo Kibo`.
 */
function withoutHandle(name: string): string {
  const { handle, description } = nameParts(name.replace(LEADING_NUMBER, ''))
  // `IVO-KIBO`.
  if (description === '') return handle.replace(/[-_]/g, ' ')
  const described = description.trim()
  const space = described.indexOf(' ')
  if (space < 0) return described
  const [first, rest] = [described.slice(0, space), described.slice(space + 1).trim()]
  return rest.includes(' ') && isHandle(first, rest) ? rest : described
}

function isHandle(first: string, rest: string): boolean {
  if (HANDLE.test(first)) return true
  if (first === first.toLowerCase() && /^\p{Lu}/u.test(rest) && !PARTICLES.has(first)) return true
  const joined = fold(first).replace(/[^\p{L}]/gu, '')
  return tokens(rest).some((word) => word.length > 3 && joined.includes(word))
}

const HANDLE = /(?:^AS-|-(?:AS|ASN|NET|NETWORK|LAN|MNT|RIPE|LAB|IX)(?:-.*)?$)/i

/** Whether the business name lacks a word: `Ivo Kibo Ltd.`. */
function hasLegalForm(text: string): boolean {
  return tokens(bareName(text)).length !== tokens(text).length
}

/** Small words inside names of people. */
const PARTICLES: ReadonlySet<string> = new Set(
  'de da do das dos di del della van von der den het ter ten bin binti ibn al el la le du ul ur y e zu zur st'.split(
    ' ',
  ),
)
/** Before the last of these, a surname of Portuguese speakers follows. */
const OF: ReadonlySet<string> = new Set(['de', 'da', 'do', 'das', 'dos'])

/** What a word is known as. Surnames by their ending may also have another meaning. */
type Part = 'given' | 'ambiguous' | 'surname' | 'patronymic' | 'initial' | 'unknown'

function isPerson(words: readonly string[], isTrader: boolean): boolean {
  const names = words.filter((word) => !PARTICLES.has(word))
  if (names.length < 2 || names.length > WORDS_MAX) return false
  const { companies } = personNames()
  if (companies.has(words.join(' ')) || companies.has(names.slice(0, 2).join(' '))) return false
  // `Ville de Gatineau`.
  if (findSpans(nameWords(), words).some(({ hit, count }) => count > 1 && isTrade(hit))) return false
  const parts: Part[] = []
  for (const name of names) {
    const part = partOf(name)
    if (part === undefined) return false
    parts.push(part)
  }
  return isNamed(names, parts, words, isTrader)
}

function isNamed(names: readonly string[], parts: readonly Part[], words: readonly string[], isTrader: boolean) {
  const count = (part: Part) => parts.filter((other) => other === part).length
  const [given, ambiguous, surnames, unknown] = [count('given'), count('ambiguous'), count('surname'), count('unknown')]
  if (unknown > UNKNOWN_MAX) return false
  if (parts.length - count('initial') < 2) return given + surnames > 0 && isTrader
  if (count('patronymic') > 0) return names.length > 2 || given > 0
  if (given > 1) return true
  if (given === 1) return surnames > 0 || ambiguous > 0 || isAtAnEnd(parts, 'given')
  if (isChinese(names)) return true
  if (ambiguous > 0 && surnames > 0) return unknown === 0
  // `Betania da Silva`, whose first name is rare.
  const last = words.at(-1)!
  if (surnames > 0 && words.some((word) => OF.has(word)) && partOf(last) === 'surname') return names.length < 6
  return isTrader && surnames > 0 && unknown <= 1
}

function isAtAnEnd(parts: readonly Part[], part: Part): boolean {
  return parts[0] === part || parts.at(-1) === part
}

/** Undefined for a word that no person's name has. */
function partOf(word: string): Part | undefined {
  const { given, ambiguous, surnames, surnameEndings, patronymics, words } = personNames()
  if (given.has(word)) return isTradeWord(word) ? 'ambiguous' : 'given'
  if (ambiguous.has(word)) return 'ambiguous'
  if (surnames.has(word)) return 'surname'
  if (word.length === 1) return 'initial'
  if (words.has(word) || isGenericWord(word)) return undefined
  if (word.length > ENDING_WORD_MIN && patronymics.some((ending) => word.endsWith(ending))) return 'patronymic'
  if (isTradeWord(word)) return undefined
  if (word.length >= ENDING_WORD_MIN && surnameEndings.some((ending) => word.endsWith(ending))) return 'surname'
  return word.length > 1 && /\p{L}/u.test(word) && LETTERS.test(word) ? 'unknown' : undefined
}

/** Latin and Cyrillic: other scripts write names without spaces, or have no table here. */
const LETTERS = /^[\p{Script=Latin}\p{Script=Cyrillic}]+$/u

function isTradeWord(word: string): boolean {
  return findWords(nameWords(), [word]).some(isTrade) || findWords(knownNames(), [word]).some(isTrade)
}

function isTrade({ classification, weight }: Hit): boolean {
  return classification !== 'neutral' && weight >= TRADE_WEIGHT_MIN
}

/** `Jingqiu Xu`: a surname in one syllable, and a name in one to two. */
function isChinese(names: readonly string[]): boolean {
  if (names.length > 3) return false
  const [first, last] = [names[0]!, names.at(-1)!]
  const surname = isSyllable(first) && personNames().surnames.has(first) ? first : last
  if (!isSyllable(surname) || !personNames().surnames.has(surname)) return false
  const rest = names.filter((name) => name !== surname)
  return rest.length > 0 && rest.every((name) => SYLLABLES.test(name)) && rest.some((name) => !isSyllable(name))
}

function isSyllable(word: string): boolean {
  return SYLLABLE.test(word)
}

/** Pinyin, and the spelling of Wade and Giles. */
const SYLLABLE_PATTERN =
  '(?:[bpmfdtnlgkhjqxrzcsyw]|zh|ch|sh|hs|ts|tz)?(?:a|o|e|ai|ei|ao|ou|an|en|ang|eng|ong|i|ia|ie|iao|iu|ian|in|iang|ing|iong|u|ua|uo|uai|ui|uan|un|uang|ue|ih)'
const SYLLABLE = new RegExp(`^${SYLLABLE_PATTERN}$`)
const SYLLABLES = new RegExp(`^(?:${SYLLABLE_PATTERN}){1,2}$`)

function readNames(): PersonNames {
  const sections = readSections('person-names.txt')
  const entries = (heading: string) =>
    sections.filter((section) => section.heading[0] === heading).flatMap((s) => s.entries)
  const folded = (heading: string) => new Set(entries(heading).map(fold))
  return {
    given: folded('given'),
    ambiguous: folded('given-or-word'),
    surnames: folded('surname'),
    surnameEndings: entries('surname-ending'),
    patronymics: entries('patronymic'),
    words: folded('word'),
    companies: folded('company'),
  }
}
