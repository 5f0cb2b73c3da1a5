import { remembered } from '../bounded-cache.ts'
import { bareName, nameTables, withoutAddress } from './business-name.ts'
import { fold, isGenericWord, nameParts, TEXT_MAX, tokens, trimmedEnd } from './normalise.ts'
import { knownNames, nameWords } from './score-name.ts'
import { once, readSections } from './sections.ts'
import { findSpans, findWords, type Hit, type Span } from './word-table.ts'

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

/** An AS with this many IPv4 addresses belongs to a person only if its name can be no company's. */
export const PERSON_ADDRESSES_MAX = 2 ** 14

/** Most words of a person's name, without particles. */
const WORDS_MAX = 6
/** Most unknown words next to a given name. */
const UNKNOWN_MAX = 2
/** A word with a heavier hit in the word tables is no part of a name. */
const TRADE_WEIGHT_MIN = 2
/** Beside a patronymic or a legal form of a person, only heavier words are no part of a name: `Kirunets` ends like a network. */
const CERTAIN_TRADE_WEIGHT_MIN = 3
const ENDING_WORD_MIN = 5

/**
 * Whether a name is a private person's: it consists of people's names, and has no legal form, trade word or trade name. The
 * marks of sole traders (`FOP`, `- ME`, `PR`), an address, numbers and remarks may stand next to it, and a registry's handle
 * before it. An e-mail address counts as a person's. When unsure, it calls the name a company's.
 * @param name a name from any provider, in Latin or Cyrillic letters
 */
export const isPersonName = remembered((name): boolean => {
  if (name.length > TEXT_MAX) return false
  if (EMAIL.test(name.trim())) return true
  return readingsOf(name).some(isNameOfPeople)
})

/**
 * Whether a person's name cannot be a company's, as `Mary Kay` is: it has a patronymic, or the mark of a sole trader.
 * @param name one for which `isPersonName` is true
 */
export function isOnlyPersonName(name: string): boolean {
  return readingsOf(name).some((reading) => {
    const own = withoutHandle(reading)
    return PROPRIETOR.test(own) || withoutTraderMarks(own).isTrader || tokens(own).some(isPatronymic)
  })
}

/** Whether `isPersonName` knows the script of a name. */
export function isJudgeable(name: string): boolean {
  return !/[^\p{Script=Latin}\p{Script=Cyrillic}\P{L}]/u.test(name)
}

const EMAIL = /^[^\s@,;<>()]+@[^\s@,;<>()]+$/

/** The name as it is, and without the text after a person's name: an address, brackets, a tax number, numbers, a remark. */
function readingsOf(name: string): string[] {
  const given = name.replace(LEADING_NUMBER, '')
  if (PLAIN.test(given)) return [given]
  const bare = withoutAddress(withoutBrackets(given.replace(HOME, '')))
    .replace(HOME, '')
    .split(' ')
    .filter((word) => !word.includes('@'))
    .join(' ')
  const unnumbered = bare.replace(TAX_MARK, ' ').replace(NUMBERS_BEFORE, '')
  const readings = [given, withoutNumbers(unnumbered)]
  // `Hans Kibo, Bahnhofstr. 5`
  const comma = bare.search(/[,;]/)
  if (comma > 0 && isAddressAfter(bare.slice(comma + 1))) readings.push(withoutNumbers(bare.slice(0, comma)))
  return readings
}

const PLAIN = /^[\p{L}\p{M} .'’]+$/u
/** `Ivo Kibo (formerly Acme)`. A bracket with a legal form, a trade or a trade name stays. */
function withoutBrackets(name: string): string {
  const { endForms } = nameTables()
  const isTrading = (content: string) =>
    TRADING.test(content) || tokens(content).some((word) => endForms.has(word) || isTradeWord(word))
  return name.replace(/ ?\(([^()]*)\)/g, (bracket, content: string) => (isTrading(content) ? bracket : '')).trim()
}

const TRADING = /^(?:trading as|doing business as|d\/?b\/?a|t\/?a)\b/i
/** `John Kibo - home office`, `Jan Kibo (home)`. */
const HOME =
  /(?: - |, ?|: ?| \()(?:(?:at )?home(?: office| network| lan| internet| connection)?|private|privat|residence|residential)\)?$/i
/** Before the number of a person or sole trader, or a telephone number. */
const TAX_MARK =
  / (?:cpf|cnpj|nip|inn|nif|pesel|dni|nie|rut|ico|vat|tax id|id|tel|phone|mob)[ .:#-]{0,3}(?=\p{L}{0,2}\+?\d)/iu
const NUMBERS_BEFORE = /^\d[\d./-]{5,} /

/** `John Kibo 2`, `Ivo Kibo 12345678901`. */
function withoutNumbers(name: string): string {
  const words = name.split(' ')
  while (words.length > 0 && /^[^\p{L}]*$/u.test(words.at(-1)!)) words.pop()
  return trimmedEnd(words.join(' '), LEFT_OVER)
}

const LEFT_OVER: ReadonlySet<string> = new Set(' ,;:/(-')

/** Whether a text has a number of a house or a person, and no legal form. */
function isAddressAfter(text: string): boolean {
  return /\d/.test(text) && !text.split(/[,;]/).some((part) => bareName(`X ${part}`) === 'X')
}

/** One person's name, or several: `Jan Kibo & Anna Kibo`, `Jan & Anna Kibo`. */
function isNameOfPeople(name: string): boolean {
  if (isNameOfOne(name)) return true
  const people = name.split(/ ?& ?| (?:und|and|y|et|oraz) /i)
  const last = people.pop()!
  if (people.length === 0 || !isNameOfOne(last)) return false
  return people.every((person) => isNameOfOne(person) || personNames().given.has(fold(person.trim())))
}

function isNameOfOne(name: string): boolean {
  if (name.length > NAME_MAX || /[\d@&]/.test(name)) return false
  const own = withoutHandle(name)
  if (isInitialled(own.replace(TRADER_BEFORE, ''))) return true
  const proprietor = PROPRIETOR.exec(own)?.[1]
  if (proprietor !== undefined) return isProprietor(proprietor)
  const { text, isTrader } = withoutTraderMarks(own)
  const family = FAMILY.exec(text)?.[1]
  if (family !== undefined) return tokens(family).every(isSurname)
  if (!text.includes(' ') || hasAbbreviation(text)) return false
  return isOfNames(tokens(text), isTrader) && !hasLegalForm(text)
}

/** American registries add the legal form of a person: `Weston Reed, Sole Proprietorship`. */
const PROPRIETOR = /^(.+?)[ ,(-]+(?:sole|individual) proprietor(?:ship)?\)?$/iu

/** Whether a sole proprietor has no trade name. The legal form says that it is a person, so no word need be known as a name. */
function isProprietor(name: string): boolean {
  const words = tokens(name)
  return words.length > 1 && words.length <= WORDS_MAX && words.every(mayBeName)
}

function mayBeName(word: string): boolean {
  return (
    !isGenericWord(word) && !findWords(nameWords(), [word]).some(({ weight }) => weight >= CERTAIN_TRADE_WEIGHT_MIN)
  )
}

const FAMILY = /^(?:familie|fam\.|famille|famiglia|rodzina|rodina|семья) (.+)$/iu

/** `Ivanov I.I.`. Initials before a surname are a company's as often: `B. Braun`, `J.B. Hunt`. */
function isInitialled(text: string): boolean {
  const surname = INITIALLED.exec(text)?.[1]
  return surname !== undefined && isSurname(fold(surname)) && !hasLegalForm(text)
}

const INITIALLED = /^([\p{L}\p{M}'’-]+),? (?:\p{Lu}\. ?){2}$/u

function isSurname(word: string): boolean {
  return personNames().surnames.has(word) || partOf(word) === 'surname'
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
  /^(?:(?:SPD|CPD|FL) )?(?:(?:SE:?|SP|PP|NPE)(?=(?: \p{L}+){2} \p{L}+(?:[oei]vich|[oy]vych|[oei]vna)$)|F\.?O\.?P\.?|FO-P|P\.?E\.?|I\.?P\.?|I\.?E\.?|SP-D|SPD|FLP|CHP|PFA|I\.I\.|II|ИП|ФОП|ФЛП|(?:private|individual|sole) (?:entrep\p{L}+|enterp\p{L}+|propriet\p{L}+|trader|person)|entrepreneur|enterpreneur|phys?ical person(?:[- ](?:businessman|entrepreneur))?|fizichna osoba[- ]pidpri?y?emec|natural person|sole trader) (?=\S)/iu
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
const SURNAME_PARTICLES: ReadonlySet<string> = new Set(['de', 'da', 'do', 'das', 'dos'])

/** The known kinds of a word. Surnames by their ending may also have another meaning. */
type Part = 'given' | 'ambiguous' | 'surname' | 'patronymic' | 'initial' | 'unknown'

function isOfNames(words: readonly string[], isTrader: boolean): boolean {
  const names = words.filter((word) => !PARTICLES.has(word))
  if (names.length < 2 || names.length > WORDS_MAX) return false
  const { companies } = personNames()
  if (companies.has(words.join(' ')) || companies.has(names.slice(0, 2).join(' '))) return false
  const parts: Part[] = []
  // `Merzlyakov Alexandr Borisovich`: surname, given name and patronymic, in this order or the patronymic second.
  const isRussian = names.length === 3 && names.some(isPatronymic)
  for (const name of names) {
    const part = isPatronymic(name)
      ? 'patronymic'
      : (partOf(name) ?? (isRussian && mayBeName(name) ? 'unknown' : undefined))
    if (part === undefined) return false
    parts.push(part)
  }
  // Last, because it takes longest. `Ville de Gatineau`.
  return isNamed(names, parts, words, isTrader) && !findSpans(nameWords(), words).some(isTradePhrase)
}

function isTradePhrase({ hit, count }: Span<Hit>): boolean {
  return count > 1 && isTrade(hit)
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
  if (surnames > 0 && words.some((word) => SURNAME_PARTICLES.has(word)) && partOf(last) === 'surname')
    return names.length < 6
  return isTrader && surnames > 0 && unknown <= 1
}

function isAtAnEnd(parts: readonly Part[], part: Part): boolean {
  return parts[0] === part || parts.at(-1) === part
}

/** Undefined for a word that no person's name has. */
function partOf(word: string): Part | undefined {
  const { given, ambiguous, surnames, surnameEndings, words } = personNames()
  if (given.has(word)) return isTradeWord(word) ? 'ambiguous' : 'given'
  if (ambiguous.has(word)) return 'ambiguous'
  if (surnames.has(word)) return 'surname'
  if (word.length === 1) return 'initial'
  if (words.has(word) || isGenericWord(word)) return undefined
  if (isTradeWord(word)) return undefined
  if (word.length >= ENDING_WORD_MIN && surnameEndings.some((ending) => word.endsWith(ending))) return 'surname'
  return word.length > 1 && /\p{L}/u.test(word) && LETTERS.test(word) ? 'unknown' : undefined
}

function isPatronymic(word: string): boolean {
  const { given, ambiguous, surnames, words, patronymics } = personNames()
  if (word.length <= ENDING_WORD_MIN || !patronymics.some((ending) => word.endsWith(ending))) return false
  return ![given, ambiguous, surnames, words].some((names) => names.has(word)) && !isGenericWord(word)
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
