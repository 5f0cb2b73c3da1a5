import { remembered } from '../bounded-cache.ts'
import { ASCII, nameParts, slug, TEXT_MAX, trimmedEnd } from './normalise.ts'
import { once, readSections } from './sections.ts'

/** The tables of `data/business-names.txt`. Legal forms are keyed by `formKey`. */
interface NameTables {
  readonly endForms: ReadonlySet<string>
  readonly startForms: ReadonlySet<string>
  /** Forms at the start that only count before a quotation mark or Cyrillic letters. */
  readonly quotedForms: ReadonlySet<string>
  readonly brackets: ReadonlySet<string>
  readonly small: ReadonlySet<string>
  /** Short words that are no abbreviations. */
  readonly words: ReadonlySet<string>
  readonly capitals: ReadonlySet<string>
  /** Spellings, by their lower case. */
  readonly spellings: ReadonlyMap<string, string>
}

export const nameTables = once(readTables)

/** Most words of one legal form. */
const FORM_WORDS_MAX = 7
/** A cut-off legal form is recognised from this many letters of its last word on: `Limited Liability Comp`. */
const CUT_OFF_LETTERS_MIN = 3
/** Registries cut names from this length on. */
const CUT_OFF_NAME_MIN = 20

/**
 * The name that people write: without legal form, handle, address, tax number, former name and abbreviation in brackets, and
 * with capitals only where they belong. `SAP SE` → `SAP`, `BANCO DE LA REPUBLICA S.A.` → `Banco de la Republica`. A name
 * of which nothing would remain is returned as it is.
 * @param registered a name from any provider, in any script
 */
export const businessName = remembered((registered): string => {
  const given = givenName(registered)
  const name = recapitalised(bareName(given))
  return /[\p{L}\p{N}]/u.test(name) ? name : given
})

/** The words of the business name, with the registered name's capitals. */
export const bareName = remembered((registered): string => {
  if (isBare(registered)) return registered
  const given = givenName(registered)
  const own = withoutRepetition(nameParts(given).description || given)
  return withoutForms(withoutAddress(withoutBrackets(tradeName(own))))
})

/** Words and single blanks, none of them at an edge of a legal form or in a handle: most business names. */
const WORDS = /^[A-Za-z][A-Za-z']*(?: [A-Za-z][A-Za-z']*)*$/

function isBare(name: string): boolean {
  if (name.length > TEXT_MAX || !WORDS.test(name) || TRADING_AS.test(name)) return false
  const { first, last } = formEdges()
  const lower = name.toLowerCase()
  const end = lower.slice(lower.lastIndexOf(' ') + 1)
  const start = lower.split(' ', 1)[0]!
  return !last.has(end) && !last.has(end.slice(0, CUT_OFF_LETTERS_MIN)) && !first.has(start)
}

function givenName(registered: string): string {
  const text = registered.slice(0, TEXT_MAX).normalize('NFC')
  return text
    .replace(/\p{Cf}/gu, '')
    .replace(SPACES, ' ')
    .trim()
}

const SPACES = /[\s\p{Cc}]+/gu
const TRADING_AS = /(?:^|[\s(,])(?:d[./]?b[./]?a[.:]?|t[./]a|trading as|doing business as) +(\S.{2,})$/i

/** The brand in `Acme Holdings Inc. d/b/a Road Runner Supply`. */
function tradeName(name: string): string {
  return TRADING_AS.exec(name)?.[1]?.replace(/\)$/, '') ?? name
}

/** AFRINIC repeats names: `Acme - Acme`. A part that the other contains goes. */
function withoutRepetition(name: string): string {
  const parts = name.split(/ [-–—|] /)
  if (parts.length !== 2) return name
  const [first, second] = parts as [string, string]
  const [a, b] = [`-${slug(first)}-`, `-${slug(second)}-`]
  if (a !== '--' && b.includes(a)) return second
  return b !== '--' && a.includes(b) ? first : name
}

/** Removes brackets with a former name, an abbreviation or a legal form, and one that was cut off. */
function withoutBrackets(name: string): string {
  const opened = name.lastIndexOf('(')
  const whole = opened > 0 && !name.includes(')', opened) ? name.slice(0, opened).trim() : name
  const bare = whole.replace(/\(([^()]+)\)/g, (bracket, content: string, at: number) =>
    at > 0 && isRemark(content.trim(), whole.slice(0, at)) ? '' : bracket,
  )
  return bare.replace(SPACES, ' ').replace(/ ,/g, ',').trim() || name
}

const FORMER =
  /^(?:formerly|previously|former|fka|f\/k\/a|ex[ -]|aka|a\.?k\.?a|alias|now|was|dba|d\/b\/a|in liquidation)\b/i

function isRemark(content: string, name: string): boolean {
  return FORMER.test(content) || /\d{4,}/.test(content) || endsWithForm(content) || isAbbreviationOf(content, name)
}

/** `IIA Ltda`, `public joint-stock company`, `LTD/GTE`. */
function endsWithForm(content: string): boolean {
  const words = wordsOf(content.replaceAll('/', ' '))
  return words.some((_, i) => isForm(words.slice(i), nameTables().endForms, false))
}

/** `DoD` after `United States Department of Defense`. The case makes no difference, so that spellings of a name meet. */
function isAbbreviationOf(content: string, name: string): boolean {
  const letters = slug(content).replaceAll('-', '')
  if (letters.length < 2 || content.includes(' ')) return false
  const { small } = nameTables()
  const words = slug(name).split('-')
  const initialsOf = (of: readonly string[]) => of.map((word) => word[0]).join('')
  return initialsOf(words).includes(letters) || initialsOf(words.filter((word) => !small.has(word))).includes(letters)
}

/** Cuts at the first comma that a house number, a street or a tax number follows. */
export function withoutAddress(name: string): string {
  const untaxed = trimmedEnd(name.replace(TAX_NUMBER, ' '), LEFT_OVER) || name
  let end = untaxed.search(/[,;]/)
  while (end > 0) {
    if (isAddress(untaxed.slice(end + 1).trim())) return untaxed.slice(0, end)
    const next = untaxed.slice(end + 1).search(/[,;]/)
    end = next < 0 ? -1 : end + 1 + next
  }
  return untaxed
}

/** `12 High Street`, `No. 5`, `Rua Augusta`, `P.O. Box 7`. */
function isAddress(text: string): boolean {
  return /^\d+[a-z]? \p{L}/iu.test(text) || /^no\.? ?\d/i.test(text) || STREET.test(text)
}

const STREET = /^(?:str|ul|rua|rue|calle|av|avenida|via|p\.?o\.? ?box)\b/i
const TAX_NUMBER =
  /\b(?:cnpj|cpf|nip|inn|nif|cif|vat|ico|eik|regon|hrb|orgnr|tax id)[ .:#-]{0,3}\p{L}{0,2}(?:\d[./ -]?){8,20}|\b\d{2,3}\.\d{3}\.\d{3}(?:\/\d{4}-\d\d)?$/giu

/** Punctuation that a removed part leaves at the end. */
const LEFT_OVER: ReadonlySet<string> = new Set(' ,;:&/(-')

interface Word {
  readonly key: string
  readonly start: number
  readonly end: number
}

/** Most forms that a name has: `Acme S.A. de C.V. (Pty) Ltd - ME`. More are odd input. */
const FORMS_MAX = 6

/** Takes legal forms from both ends until none is left. Stops before nothing remains. */
function withoutForms(name: string): string {
  let text = name
  for (let forms = 0; forms < FORMS_MAX; forms++) {
    const shorter = shortened(text)
    if (shorter === undefined) break
    text = shorter
  }
  const unquoted = text.replace(/["«»„“”‟]/g, '').replace(/^'([^']+)'$/, '$1')
  const isStripped = text !== name
  return (isStripped ? unquoted.replace(/^the (?=\S)/i, '') : unquoted).trim()
}

function shortened(text: string): string | undefined {
  const { endForms, startForms, quotedForms, brackets } = nameTables()
  const opened = text.endsWith(')') ? text.lastIndexOf('(') : -1
  if (opened > 0 && brackets.has(formKey(text.slice(opened)))) return trimmedEnd(text.slice(0, opened), LEFT_OVER)
  const joined = ASCII.test(text) ? undefined : withoutJoinedForm(text)
  if (joined !== undefined) return joined
  const words = wordsOf(text)
  const cutOff = text.length >= CUT_OFF_NAME_MIN
  if (!mayHaveForm(words, cutOff)) return undefined
  for (let count = Math.min(FORM_WORDS_MAX, words.length - 1); count > 0; count--) {
    const at = words.length - count
    if (isForm(words.slice(at), endForms, cutOff) && !isSpa(text.slice(words[at]!.start))) {
      const rest = trimmedEnd(text.slice(0, words[at]!.start), LEFT_OVER)
      if (isName(rest)) return rest
    }
    const first = words.slice(0, count)
    const after = text.slice(words[count - 1]!.end)
    if (isForm(first, startForms, false) || (isForm(first, quotedForms, false) && QUOTED.test(after))) {
      const rest = after.replace(/^[\s,.;:)-]+/, '')
      if (isName(rest)) return rest
    }
  }
  return undefined
}

const QUOTED = /^ ?(?:["«„“]|\p{Script=Cyrillic})/u

/** A hotel's spa, not a `S.p.A.`. */
function isSpa(word: string): boolean {
  return word === 'Spa' || word === 'spa'
}

/** Whether more than an article is left. */
function isName(rest: string): boolean {
  return /[\p{L}\p{N}]/u.test(rest) && !/^(?:the|la|el|le|der|die|das)$/i.test(rest)
}

/** Japanese, Chinese and Korean write the form next to the name, without a space. */
function withoutJoinedForm(text: string): string | undefined {
  for (const form of JOINED_FORMS) {
    const rest = text.startsWith(form)
      ? text.slice(form.length)
      : text.endsWith(form)
        ? text.slice(0, -form.length)
        : ''
    if (/[\p{L}\p{N}]/u.test(rest)) return rest.trim()
  }
  return undefined
}

const JOINED_FORMS = [
  '股份有限公司',
  '有限责任公司',
  '有限責任公司',
  '有限公司',
  '株式会社',
  '合同会社',
  '有限会社',
  '주식회사',
  '(株)',
  '(주)',
]

/** Whether the first or last word is one of a form: most names end here. */
function mayHaveForm(words: readonly Word[], mayBeCutOff: boolean): boolean {
  const { first, last } = formEdges()
  const end = words.at(-1)?.key ?? ''
  const start = words[0]?.key ?? ''
  const isCutOff = mayBeCutOff && end.length >= CUT_OFF_LETTERS_MIN && last.has(end.slice(0, CUT_OFF_LETTERS_MIN))
  return last.has(end) || last.has(withoutDots(end)) || first.has(start) || first.has(withoutDots(start)) || isCutOff
}

/** First words of the forms at the start; last words of those at the end, with their first letters. */
const formEdges = once(() => {
  const { startForms, quotedForms, endForms } = nameTables()
  const last = new Set<string>()
  for (const form of endForms) {
    const word = form.slice(form.lastIndexOf(' ') + 1)
    last.add(word)
    last.add(withoutDots(word))
    if (form.includes(' ')) last.add(withoutDots(word).slice(0, CUT_OFF_LETTERS_MIN))
  }
  return {
    first: new Set(
      [...startForms, ...quotedForms].flatMap((form) => [form.split(' ')[0]!, withoutDots(form.split(' ')[0]!)]),
    ),
    last,
  }
})

function isForm(words: readonly Word[], forms: ReadonlySet<string>, mayBeCutOff: boolean): boolean {
  const key = words.map((word) => word.key).join(' ')
  const plain = withoutDots(key)
  if (forms.has(key) || forms.has(plain)) return true
  return mayBeCutOff && words.length > 1 && words.at(-1)!.key.length >= CUT_OFF_LETTERS_MIN && cutForms().has(plain)
}

/** Beginnings of the long forms whose last word is incomplete. */
const cutForms = once(() => {
  const beginnings = new Set<string>()
  for (const form of nameTables().endForms) {
    const lastWord = form.lastIndexOf(' ') + 1
    if (lastWord === 0) continue
    for (let length = lastWord + CUT_OFF_LETTERS_MIN; length < form.length; length++)
      beginnings.add(form.slice(0, length))
  }
  return beginnings
})

function wordsOf(text: string): Word[] {
  const words: Word[] = []
  for (const match of text.matchAll(/[^\s,]+/g)) {
    const key = formKey(match[0])
    if (key !== '') words.push({ key, start: match.index, end: match.index + match[0].length })
  }
  return words
}

/** Lower case without quotes and brackets. `C.A` and `C.A.` are one form; `as.` is not the word `as`. */
function formKey(text: string): string {
  const key = text
    .toLowerCase()
    .replace(/["'«»„“”()[\]]/g, '')
    .replace(/[;:]{1,3}$/, '')
    .trim()
  return key.endsWith('.') && key.indexOf('.') < key.length - 1 ? key.slice(0, -1) : key
}

function withoutDots(key: string): string {
  return key.replace(/[./]/g, '')
}

const VOWEL = /[aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüıāēīōūąęóаеёиоуыэюяіїєαεηιουω]/iu

/** Sets the capitals of a name that is in capitals, or in small letters, as a whole. Others are spelled on purpose. */
function recapitalised(name: string): string {
  const letters = name.replace(/[^\p{L}]/gu, '')
  const isSmall = letters === letters.toLowerCase()
  if (letters.length < 2 || (!isSmall && letters !== letters.toUpperCase())) return withSmallWords(name)
  // A script without case, or a domain: `example.com`.
  if (letters.toLowerCase() === letters.toUpperCase() || (isSmall && !name.includes(' '))) return name
  let first = true
  const isOneWord = !/[^\p{L}\p{M}\p{N}'’]/u.test(name)
  const spelled = name.replace(COMPOUND, (compound, at: number) => {
    if (isInitials(compound)) {
      first = false
      return compound.toUpperCase()
    }
    return compound.replace(/[\p{L}\p{M}\p{N}'’]+/gu, (word) => {
      const isSaint = /^st$/i.test(word) && name[at + compound.length] === '.'
      const result = isSaint ? 'St' : spellingOf(word, first, isOneWord)
      first = false
      return result
    })
  })
  // The small letter of İ has a dot of its own.
  return spelled.replaceAll('i̇', 'i').normalize('NFC')
}

/** Words that are joined by `&`, `.` or a hyphen. */
const COMPOUND = /[\p{L}\p{M}\p{N}'’]+(?:[&.-][\p{L}\p{M}\p{N}'’]+)*/gu

/** `AT&T`, `E.ON`, `H-E-B`, `A.P`. */
function isInitials(compound: string): boolean {
  const parts = compound.split(/[&.-]/)
  return parts.length > 1 && parts.some(({ length }) => length === 1) && parts.every(({ length }) => length < 3)
}

/** `Executive Office Of The President`: these words never need a capital. */
function withSmallWords(name: string): string {
  return name.replace(/(?<= )(?:Of|The|And|For)(?= )/g, (word) => word.toLowerCase())
}

function spellingOf(word: string, first: boolean, isOneWord: boolean): string {
  const { small, capitals, spellings, words } = nameTables()
  const lower = word.toLowerCase()
  const known = spellings.get(lower)
  if (known !== undefined) return known
  if (!first && small.has(lower)) return lower
  if (capitals.has(lower)) return word.toUpperCase()
  if (/\d/.test(word))
    return /^\d+(?:st|nd|rd|th)$/.test(lower) ? lower : /^\p{L}{4,}\d+$/u.test(word) ? capitalised(lower, first) : word
  const letters = lower.replace(/['’]/g, '')
  if (/^[a-z]+$/.test(letters)) {
    if (!VOWEL.test(letters)) return word.toUpperCase()
    if (letters.length <= (isOneWord ? 4 : 3) && !small.has(letters) && !words.has(letters)) return word.toUpperCase()
  }
  return capitalised(lower, first)
}

function capitalised(lower: string, first: boolean): string {
  if (/^mc\p{L}{4,}$/u.test(lower)) return `Mc${lower[2]!.toUpperCase()}${lower.slice(3)}`
  if (!/^[dlo]['’]\p{L}{3}/u.test(lower)) return lower[0]!.toUpperCase() + lower.slice(1)
  // `O'Brien` and `L'Oréal`, but `Institut d'Études`.
  const article = first || lower[0] === 'o' ? lower[0]!.toUpperCase() : lower[0]!
  return `${article}'${lower[2]!.toUpperCase()}${lower.slice(3)}`
}

function readTables(): NameTables {
  const sections = readSections('business-names.txt')
  const entries = (heading: string): string[] =>
    sections.filter((section) => section.heading.join(' ') === heading).flatMap((section) => section.entries)
  const keys = (heading: string) => new Set(entries(heading).map(formKey))
  return {
    endForms: keys('form end'),
    startForms: keys('form start'),
    quotedForms: keys('form start quoted'),
    brackets: keys('form bracket'),
    small: new Set(entries('small')),
    words: new Set(entries('word')),
    capitals: new Set(entries('capitals')),
    spellings: new Map(entries('spelling').map((word) => [word.toLowerCase(), word])),
  }
}
