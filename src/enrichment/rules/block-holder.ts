import { NOISE } from '../../../schemas/classification.ts'
import { bareName, nameTables, withoutAddress } from './business-name.ts'
import { fold, isGenericWord, tokens, trimmedEnd } from './normalise.ts'
import { isJudgeable, isPersonName } from './person.ts'
import { isSameHolder } from './same-holder.ts'
import { readNameWords } from './score-name.ts'
import { once, readSections } from './sections.ts'
import { compileWords, findWords, type Hit, wordLists } from './word-table.ts'

const blockWords = once(() => compileWords(wordLists(readSections('blocks.txt'))))

/** A block of addresses in a registry, before its meaning is known. */
export interface Block {
  readonly netname: string
  /** Lines of its description. The first one is a customer's name, a purpose, or the provider's own name. */
  readonly descr: readonly string[]
  /** Upper case: `ASSIGNED PA`. */
  readonly status: string
  /** Number of IPv4 addresses, or of /60 networks: a site gets up to 4,096 of both. */
  readonly size: number
  /** The organisation that the block refers to. */
  readonly organisation: { readonly name: string; readonly isLir: boolean } | undefined
  /** The maintainer, who may change the block: `ACME-MNT`. */
  readonly maintainers: readonly string[]
}

/**
 * - `holder`: the organisation that uses the addresses
 * - `purpose`: addresses for any of a provider's customers, and the word that says so
 * - `network`: a provider's own block, or one that names no user, with the provider's name if given
 */
export type BlockUse =
  | { readonly kind: 'holder'; readonly name: string }
  | { readonly kind: 'purpose'; readonly word: string }
  | { readonly kind: 'network'; readonly name: string | undefined }

/** Space for the customers of its holder. */
const ALLOCATED = /^(?:SUB-)?ALLOCATED(?!-ASSIGNED)|^LIR-PARTITIONED|^AGGREGATED|^EARLY|^NOT-SET|^OTHER/
/** Given to its holder by the registry itself, not by a provider. */
const INDEPENDENT = /^ASSIGNED (?:PI|ANYCAST|PORTABLE)|^LEGACY|^ALLOCATED-ASSIGNED/
/** Registry entries about foreign space. */
const PLACEHOLDER = /^(?:STUB-|IANA-|NON-RIPE-NCC-|EU-ZZ-|AFRINIC-CIDR|ERX-|APNIC-ERX)/i
/** Customers rarely get more addresses. A larger block needs a name that is clearly an organisation's. */
const CUSTOMER_SIZE_MAX = 4_096
/** In smaller blocks, `ADSL` in the netname is the line of one customer. */
const POOL_SIZE_MIN = 128
/** A word of `blocks.txt` with this weight decides in any text. */
const SURE = 9

/** Decides who uses a block. Pure; takes some microseconds. */
export function useOfBlock(block: Block): BlockUse {
  const { netname, descr, status, size, organisation, maintainers } = block
  if (PLACEHOLDER.test(netname)) return NO_USER
  const purpose = purposeIn(block)
  if (purpose !== undefined) return purpose
  const isAllocated = ALLOCATED.test(status)
  const isIndependent = !isAllocated && INDEPENDENT.test(status)
  const isOfProvider = organisation?.isLir === true && !isIndependent
  const name = (isOfProvider && !isAllocated) || organisation === undefined ? nameIn(descr, netname) : organisation.name
  if (name === undefined || isNoName(name)) return { kind: 'network', name: organisation?.name }
  const finding = readNameWords(name, 'organisation')
  const isProven = finding !== undefined && !NOISE.has(finding.classification)
  if (finding === undefined && isCarrierName(name)) return { kind: 'network', name }
  if (isAllocated) return isProven ? { kind: 'holder', name } : { kind: 'network', name }
  if (!isProven && mayBePerson(name)) return NO_USER
  if (isIndependent) return { kind: 'holder', name }
  if (size > CUSTOMER_SIZE_MAX && !isProven) return { kind: 'network', name }
  if (isOwn(name, maintainers)) return { kind: 'network', name }
  if (isOfProvider && isSameHolder({ orgName: name, asName: organisation!.name })) return { kind: 'network', name }
  return { kind: 'holder', name }
}

const NO_USER: BlockUse = { kind: 'network', name: undefined }

function purposeIn({ netname, descr, size, status, organisation }: Block): BlockUse | undefined {
  // A small block of an organisation may name its line below: `ADSL`.
  const lines = size < POOL_SIZE_MIN && isCompany(descr[0] ?? '') ? descr.slice(0, 1) : descr
  for (const line of lines) {
    const word = purposeOf(tokens(line))?.word
    if (word !== undefined) return { kind: 'purpose', word }
  }
  if (size < POOL_SIZE_MIN || INDEPENDENT.test(status)) return undefined
  // `DIAL25`, `NET18`
  const words = tokens(netname).map((word) => word.replace(/(?<=\D)\d+$/, ''))
  if (words.some((word) => CUSTOMER_MARK.has(word))) return undefined
  // `PROXY-MEDIA` is the block of Proxy Media GmbH.
  const own = new Set([descr[0] ?? '', organisation?.name ?? ''].filter(isCompany).flatMap(tokens))
  const hit = findWords(
    blockWords(),
    words.filter((word) => !own.has(word)),
  ).find(isCounted)
  return hit && { kind: 'purpose', word: hit.word }
}

const CUSTOMER_MARK: ReadonlySet<string> = new Set(['cust', 'clnt', 'customer', 'client'])

function purposeOf(words: readonly string[]): Hit | undefined {
  const hits = findWords(blockWords(), words).filter(isCounted)
  const sure = hits.find(({ weight }) => weight === SURE)
  if (sure !== undefined || hits.length === 0) return sure
  return isCompany(words.join(' ')) ? undefined : hits[0]
}

/** Whether a text has a legal form, or words that prove an organisation. */
function isCompany(text: string): boolean {
  const { endForms, startForms } = nameTables()
  return tokens(text).some((word, i) => endForms.has(word) || (i === 0 && startForms.has(word))) || isOrganisation(text)
}

function isCounted({ classification }: Hit): boolean {
  return classification !== 'neutral'
}

/** Whether words in the name prove an organisation: "University", "Ministry", "Bank". */
function isOrganisation(name: string): boolean {
  const finding = readNameWords(name, 'organisation')
  return finding !== undefined && !NOISE.has(finding.classification)
}

/**
 * Whether a name without a word of weight could be a smaller provider's: "Lovitel", "Example Communication Ltd". A name with
 * a word of weight stays, because the classifier then calls it a provider.
 */
function isCarrierName(name: string): boolean {
  const finding = readNameWords(name, 'as')
  return finding !== undefined && NOISE.has(finding.classification)
}

/**
 * Whether a maintainer is named like the organisation: then it is the provider, and describes itself. `SWISSCOM-MNT` is not
 * named like Swiss Post, nor is `ORANGE-MNT` like Orange County Council.
 */
function isOwn(name: string, maintainers: readonly string[]): boolean {
  const { endForms, startForms } = nameTables()
  const words = tokens(name).filter((word) => !endForms.has(word) && !startForms.has(word) && !isGenericWord(word))
  if (words.length === 0) return false
  return maintainers.some((maintainer) => {
    const parts = new Set(tokens(maintainer))
    return parts.has(words.join('')) || words.every((word) => parts.has(word))
  })
}

/** The name of a user in the lines of a description, if any. */
function nameIn(descr: readonly string[], netname: string): string | undefined {
  for (let i = 0; i < descr.length; i++) {
    const line = descr[i]!.trim()
    if (isSkipped(line)) continue
    // "Department of Federal Treasury of" continues in the next line.
    const whole = CONTINUES.test(line) && descr[i + 1] !== undefined ? `${line} ${descr[i + 1]!.trim()}` : line
    const name = cleaned(whole)
    return name === undefined || (isNetname(name, netname) && name === line) ? undefined : name
  }
  return undefined
}

const CONTINUES = /(?:\b(?:of|for|the|and|und|de|du|di|des|von|at)|&)$|^[^"]*"[^"]*$/i
const SKIPPED =
  /^(?:[^\p{L}\p{N}]*|ex-netname\b.*|descr:.*|(?:ip )?(?:network|net|lan|subnet|block|range|addresses)s?)$/iu

function isSkipped(line: string): boolean {
  return SKIPPED.test(line)
}

/** `Network for Acme`, `Customer: Acme`, `Assigned to Acme`. */
const LEAD =
  /^(?:(?:ip|internal|personal|corporate|static) )?(?:networks?|net|lan|route|subnet|block|range|addresses|assignment|allocation|assigned|allocated|delegated|reassigned|customer|client|cust|kunde|klient|connection)(?: (?:for|of|to)\b ?:?| ?:| -) ?(?=\S)/i
/** `Smoltelecom customer: Acme`. */
const CUSTOMER = /\b(?:customer|client|cust|kunde) ?: ?(?=\S)/i
/** `(MS002204) Acme`, `[123] Acme`. */
const NUMBER = /^[([{][\w /.-]{1,20}[)\]}] ?/
/** `Acme's internal network`, `Acme LAN`. */
const TAIL =
  /(?:'s)? (?:(?:corporate|internal|enterprise|office|local|public|private|lan) (?:network|net|lan|subnet|ips?)|lan|subnet|ip range)$/i

const LEFT_OVER: ReadonlySet<string> = new Set(' ,;:*-')
/** A quote that was cut off before its end. */
const OPEN_QUOTE = /^["'«„][^"'»“]*$/

function cleaned(line: string): string | undefined {
  const bare = line.split('#')[0]!.replace(/\s+/g, ' ').trim().replace(NUMBER, '')
  const marked = CUSTOMER.exec(bare)
  const led = marked === null ? bare.replace(LEAD, '') : bare.slice(marked.index + marked[0].length)
  const name = trimmedEnd(led.replace(TAIL, ''), LEFT_OVER)
  const unquoted = (OPEN_QUOTE.test(name) ? name.slice(1) : name).trim()
  return unquoted === '' ? undefined : unquoted
}

/** A registry's handle instead of a name: `ACME-NET-1`, `PoloNetwork-IPv6`. */
function isNetname(name: string, netname: string): boolean {
  return fold(name) === fold(netname) || (/^[\w-]+$/.test(name) && /[-_]/.test(name)) || /^[A-Z]{1,4}\d*$/.test(name)
}

/** Sentences, contract numbers, addresses, dates, and text that lost its letters. */
const NO_NAMES: readonly RegExp[] = [
  /\b(?:is|are|was|please|contact|abuse|report|transferred|see|https?|www|ticket|contract|dogovor|order|vlan|dumy|dummy|test|ipv6|launch)\b|\bproject\W?\d/i,
  /\d{1,3}\.\d{1,3}\.\d{1,3}\.|\d{4}-\d\d-\d\d|[0-9a-f]::/i,
  /\w\?\w|\?\?/,
  /^(?:cust|id|no|nr|ref|acc|account)\b[ .:#-]{0,4}[\w-]{0,20}\d|^(?:customer|client) of\b/i,
  /\b(?:str|ul|st|ave|av|rd|road|street|strasse|straße|rue|via|calle|prosp|pr|box|floor|d)\.?(?:, ?| )?\d|^\d[\w/-]*,? |, ?\d{1,6}\w?$/i,
  /^[\w.-]+\.[a-z]{2,}$|@/i,
  /^(?:penal system|internet|office|test|none|unknown|n\/a|company|customer|client|private|global|lan|server|project|temporary)$/i,
  /\d{5,}/,
]

function isNoName(name: string): boolean {
  if (!/\p{L}{2}/u.test(name)) return true
  return NO_NAMES.some((pattern) => pattern.test(name))
}

/** Registries write this for a natural person, besides or in place of the name. */
const PERSON =
  /\b(?:private (?:person|individual|entrepreneur|customer|enterprise)|individual (?:entrepreneur|person)|individual|natural person|privatperson|privatkunde|particulier|persona fisica|pessoa fisica|fizich\w* lico|fiz\.? ?lico|individualn\w+ predprinimatel\w*|sole proprietor\w*|einzelunternehmer|einzelunternehmen|eenmanszaak)\b|^(?:mr|mrs|ms|herr|frau)\b\.? \p{Lu}/iu

/** Whether the name is a natural person's, or may be one in a script that `isPersonName` does not know. */
function mayBePerson(name: string): boolean {
  if (PERSON.test(name) || isPersonName(name)) return true
  if (isJudgeable(name)) return false
  const whole = withoutAddress(name)
  // `株式会社アクメ` has its legal form.
  return !isCompany(whole) && bareName(whole) === whole
}
