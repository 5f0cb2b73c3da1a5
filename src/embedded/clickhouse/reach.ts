import { setImmediate } from 'node:timers/promises'
import { type Argument, callsOf } from './calls.ts'
import { emptied } from './canonical-text.ts'
import { Code, Exception } from './exception.ts'
import { piecesToJudge } from './judged-text.ts'
import { valuesOf } from './plain-insert.ts'
import { Scanner } from './scanner.ts'
import { refuseClauses } from './settings-clauses.ts'
import { STATEMENT_BYTES_MAX } from './statement.ts'
import { hasFirstWord, SOURCES, SuspicionSearch } from './suspicion.ts'

/**
 * The judgement: refuses statements that reach outside the engine's own tables where the engine checks no right. chdb
 * assumes that its user typed the statement. The judgement reads the engine's canonical form of the text, which normalises
 * comments, case and quotes.
 */

/** Converts a statement to canonical form (`canonical-text.ts`). Throws when it is not a statement. */
export type Canonical = (sql: string) => Promise<string>

/**
 * Everything in a request that determines a statement's effect: URL, body, form and session. Every new entry point must
 * pass it to `refuseReach`.
 */
interface StatementText {
  /** The query of the URL. */
  readonly query: string
  /** The text after the query and a line break; empty for data in a file. */
  readonly body: Uint8Array
  /** Settings and parameters (`param_…`) from the URL and from a form. */
  readonly settings?: readonly (readonly [name: string, value: string])[]
}

const NAMES_IN_DATA = /file|executable|eval|settings|\bai[a-z]|catboost|\\/i

/** Values of parameters that would name a function with access to files or programs. */
const REACHING_NAME = /^[\s\\]*(?:file|executable|eval|sqlite|disk|catboostEvaluate|ai[A-Z]\w*)\s*$/i

function isReachingName(value: string): boolean {
  return value.length < NAME_CHARACTERS_MAX && REACHING_NAME.test(value)
}

const NAME_CHARACTERS_MAX = 200

/** Definitions and mutations. The engine runs them later, and without the user's rights. */
const LASTING = /(?:^|\bPARALLEL WITH )\(*(?:CREATE|REPLACE|ALTER|ATTACH|DELETE|UPDATE)\b/

const SOURCE = new RegExp(`(?<![.\\w])(?:${SOURCES})\\(`, 'i')

/** In the database `default`, a table name like this is a file or a URL. */
const PATH = /^.\/|\.\.|:\/\//

const SETS_PARAMETER = /\bparam_\w+ = '?(?:file|executable|eval|sqlite|disk|catboostEvaluate|ai[A-Z]\w*)'?(?:,|$)/im

const TO_FILE = /\bINTO OUTFILE\b/i

/** Further patterns to refuse in a canonical statement with emptied quotes. */
const REFUSED: readonly RegExp[] = [
  TO_FILE,
  /\bFROM INFILE\b/i,
  // Higher-order functions and APPLY use a function by its bare name.
  /(?<![.\w]|\bAS )file\b/i,
  /(?<![.\w])(?:executable|eval|sqlite|disk|catboostEvaluate|ai[A-Z]\w*) *\(/i,
  SOURCE,
  // Without a table name, the engine reports success and silently skips tables without a right.
  /(?:^|\bPARALLEL WITH )\(*SYSTEM (?!FLUSH LOGS\b)/i,
  /\b(?:BACKUP|RESTORE) (?:TABLE|DATABASE|VIEW|DICTIONARY|TEMPORARY|ALL)\b/i,
]

const ENGINE = /\bENGINE = (?!')(\w*)/g
const OWN_ENGINE =
  /^(?:\w*MergeTree|Memory|Log|TinyLog|StripeLog|Null|Set|Join|Buffer|Merge|View|MaterializedView|GenerateRandom|Alias|Atomic|Ordinary)$/i

/** Limit of the text to judge. Only data may follow. */
const TEXT_CHARACTERS_MAX = 1_048_576
const DATA_FOLLOW = /^INSERT INTO (?!.*\bSELECT\b).* FORMAT (?!Values$)\w+$/

/**
 * @throws Exception when the statement reaches a file, a program or another server in a way that rights do not cover
 */
export async function refuseReach({ query, body, settings = [] }: StatementText, canonical: Canonical): Promise<void> {
  // The engine inserts the value of `{name:Identifier}` into the statement as a name.
  for (const [name, value] of settings)
    if (name.startsWith('param_') && isReachingName(value)) throw refusal(`${name}=${value}`)
  const { isSuspicious, beginning } = await searched(query, body)
  if (!isSuspicious) return
  const isWhole = beginning.length <= TEXT_CHARACTERS_MAX
  const form = await canonical(isWhole ? beginning : cutBetweenWords(beginning))
  refuseForms(form)
  if (!isWhole && !DATA_FOLLOW.test(emptied(form))) throw refusal('a text of that size')
  if (/^INSERT\b.* FORMAT Values$/.test(form)) await refuseInValues(beginning, canonical)
}

/** Searches the text to judge. `beginning` is complete, or longer than TEXT_CHARACTERS_MAX. */
async function searched(query: string, body: Uint8Array): Promise<{ isSuspicious: boolean; beginning: string }> {
  const search = new SuspicionSearch()
  let [isSuspicious, beginning, count] = [false, '', 0]
  for (const piece of piecesToJudge(query, body)) {
    if (count++ > 0) await setImmediate()
    if (beginning.length <= TEXT_CHARACTERS_MAX) beginning += piece
    isSuspicious ||= search.finds(piece)
    if (isSuspicious && beginning.length > TEXT_CHARACTERS_MAX) break
  }
  return { isSuspicious: isSuspicious || hasFirstWord(beginning), beginning }
}

/** Cuts at the end of a word, because half of a format's name may be another format. Names of formats are shorter than the search. */
function cutBetweenWords(text: string): string {
  let end = TEXT_CHARACTERS_MAX
  while (end > TEXT_CHARACTERS_MAX - NAME_CHARACTERS_MAX && /\w/.test(text[end - 1]!)) end--
  return text.slice(0, end)
}

/** @throws Exception when the statement writes its result to a file, which the engine treats as a read */
export async function refuseOutfile({ query, body }: StatementText, canonical: Canonical): Promise<void> {
  const text = textOf(query, body.subarray(0, STATEMENT_BYTES_MAX))
  if (/outfile/i.test(text) && TO_FILE.test(emptied(await canonical(text)))) throw refusal('INTO OUTFILE')
}

/** VALUES are expressions, but the canonical form does not include them. */
async function refuseInValues(text: string, canonical: Canonical): Promise<void> {
  if (!NAMES_IN_DATA.test(text)) return
  const values = valuesOf(text)
  if (values === undefined) throw refusal('VALUES with these words in another form than INSERT INTO table (columns)')
  refuseForms(await canonical(`SELECT ${values}`))
}

function refuseForms(canonical: string): void {
  const bare = emptied(canonical)
  refuseClauses(canonical)
  if (SETS_PARAMETER.test(canonical)) throw refusal('such a value of a parameter')
  const lastingAt = bare.search(LASTING)
  // The parameter becomes a name later, with a value that is not judged.
  if (lastingAt >= 0 && bare.indexOf(':Identifier}', lastingAt) >= 0) {
    throw refusal('a definition or a mutation with a parameter of type Identifier')
  }
  if (lastingAt >= 0) refusePaths(canonical)
  refuseTextAsCode(canonical)
  const attach = bare.search(/\bATTACH\b/i)
  if (attach >= 0 && bare.indexOf(" FROM '", attach) >= 0) throw refusal('ATTACH … FROM')
  for (const form of REFUSED) {
    const found = form.exec(bare)
    if (found !== null) throw refusal(found[0])
  }
  for (const [found, name] of bare.matchAll(ENGINE)) {
    if (!OWN_ENGINE.test(name!)) throw refusal(found)
  }
}

/** Column names may look like paths, as in AS `/pricing`. */
function refusePaths(canonical: string): void {
  let before = ''
  for (const scanner = new Scanner(canonical); scanner.next(); before = scanner.token) {
    if (scanner.kind === 'name' && before !== 'AS' && PATH.test(scanner.token)) {
      throw refusal('a definition or a mutation with a file as a table')
    }
  }
}

/** Table functions whose first argument is a structure. */
const STRUCTURED = new Set(['values', 'input', 'generaterandom', 'null'])

/**
 * The data of `format(Values, …)` are expressions, and a structure of columns can have default expressions. Both can be judged
 * as string literals, but not as the result of a function, a parameter or an alias.
 */
function refuseTextAsCode(canonical: string): void {
  const formats = new Set<string>()
  for (const { name, args } of callsOf(canonical)) {
    if (STRUCTURED.has(name)) refuseStructure(name, args[0]!)
    if (name !== 'format') continue
    const [format, structure] = args as [Argument, Argument?]
    if (format.kind === 'word' && format.tokens === 1) formats.add(format.token.toLowerCase())
    else if (format.kind !== 'string' || format.tokens !== 1) throw refusal('format with a name that is put together')
    if (/^'?values'?$/i.test(format.token)) throw refusal('format(Values')
    // With other characters, it is the string function `format`.
    if (args.length > 2 && /^'?\w+'?$/.test(format.token)) refuseStructure(name, structure!)
  }
  if (formats.size > 0) refuseAliases(canonical, formats)
}

function refuseStructure(name: string, { kind, tokens, token }: Argument): void {
  if (kind === 'string' && hasExpression(token)) throw refusal('a structure with DEFAULT')
  const isGiven = tokens === 0 || (tokens === 1 && (kind === 'string' || kind === 'number'))
  // Without a string structure, the engine reads VALUES as data.
  if (name !== 'values' && !isGiven) throw refusal('a structure that is put together')
}

/** The name of a format may also be an alias of a string, or an argument of a user-defined function. */
function refuseAliases(canonical: string, formats: ReadonlySet<string>): void {
  let [beforeLast, last] = ['', '']
  for (const scanner = new Scanner(canonical); scanner.next(); ) {
    const word = scanner.token.toLowerCase()
    const isFormat = last === 'format' || (last === '(' && beforeLast === 'format')
    if (formats.has(word) && scanner.kind === 'word' && !isFormat) throw refusal(`${scanner.token} beside format(`)
    beforeLast = last
    last = word
  }
}

/** Whether a structure has a column with an expression that contains a call. */
function hasExpression(structure: string): boolean {
  const at = structure.search(/\b(?:DEFAULT|MATERIALIZED|ALIAS|EPHEMERAL)\b/i)
  return at >= 0 && structure.indexOf('(', at) >= 0
}

function textOf(query: string, body: Uint8Array): string {
  return `${query}\n${Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')}`
}

function refusal(what: string): Exception {
  const message = `The embedded ClickHouse reaches no files, programs and other servers: ${what} is refused. CLICKHOUSE_EXTERNAL=on allows it. (ACCESS_DENIED)`
  return new Exception(Code.AccessDenied, message)
}
