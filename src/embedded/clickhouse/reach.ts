import { Code, Exception } from './exception.ts'
import { Scanner } from './scanner.ts'
import { takesDataOnly, valuesOf } from './statement.ts'

/**
 * What a statement would reach outside the engine's own tables, where the engine asks for no right: it takes itself for
 * a program of the user who types the statement. Judged is the engine's own reading of the text, in its canonical form,
 * in which comments, case and the ways of quoting are gone.
 */

/** A statement in canonical form: strings in '', odd names in ``, both with backslashes. Throws when it is none. */
export type Canonical = (sql: string) => Promise<string>

/**
 * All of a request that decides what a statement does, however it came: by URL, body, form or session. A new way in has to
 * go through `refuseReach` with it.
 */
export interface StatementText {
  /** Of the URL. */
  readonly query: string
  /** What follows it, on a line of its own; empty when that is data in a file. */
  readonly body: Uint8Array
  /** Settings and parameters (`param_…`) of the request, from the URL and from a form. */
  readonly settings?: readonly (readonly [name: string, value: string])[]
}

/** No statement without one of these words reaches anything; a name can be written otherwise only with a backslash. */
const SUSPICIOUS =
  /identifier|param_|file|engine|executable|eval|sqlite|disk|backup|restore|attach|\bai[a-z]|catboost|\\/i
const NAMES_IN_DATA = /file|executable|eval|\bai[a-z]|catboost|\\/i

/** Of a parameter: those that a function can be named by. */
const REACHING_NAME = /^[\s\\]*(?:file|executable|eval|sqlite|disk|catboostEvaluate|ai[A-Z]\w*)\s*$/i

function isReachingName(value: string): boolean {
  return value.length < NAME_CHARACTERS_MAX && REACHING_NAME.test(value)
}

const NAME_CHARACTERS_MAX = 200

/** A parameter that becomes a name where it is used: in a definition that would be later, with a value that nobody judges. */
const NAMED_LATER = /^(?:CREATE|ALTER|ATTACH) .*:Identifier\}/
const SETS_PARAMETER = /\bparam_\w+ = '?(?:file|executable|eval|sqlite|disk|catboostEvaluate|ai[A-Z]\w*)'?(?:,|$)/im

const TO_FILE = /\bINTO OUTFILE\b/i

/** What else must not be in a canonical statement, its quoted pieces emptied. */
const REFUSED: readonly RegExp[] = [
  TO_FILE,
  /\bFROM INFILE\b/i,
  // Higher-order functions and APPLY take it by its name alone.
  /(?<![.\w]|\bAS )file\b/i,
  /(?<![.\w])(?:executable|eval|sqlite|disk|catboostEvaluate|ai[A-Z]\w*) *\(/i,
  /\b(?:BACKUP|RESTORE) (?:TABLE|DATABASE|VIEW|DICTIONARY|TEMPORARY|ALL)\b/i,
]

const ENGINE = /\bENGINE = (?!')(\w*)/g
const OWN_ENGINE =
  /^(?:\w*MergeTree|Memory|Log|TinyLog|StripeLog|Null|Set|Join|Buffer|Merge|View|MaterializedView|GenerateRandom|Alias|Atomic|Ordinary)$/i

/** The data of `format(Values, …)` are expressions. */
const FORMAT_CALL = /(?<![.\w])format *\(/gi
const PLAIN_FORMAT = /^\s*(?:'(?!values')[^'\\]*'|(?!values\b)\w+)\s*[,)]/i

/** A suspicious text is looked at as far as this; what must be behind it is data. */
const TEXT_CHARACTERS_MAX = 1_048_576
const DATA_FOLLOW = /^INSERT INTO (?!.*\bSELECT\b).* FORMAT (?!Values$)\w+$/

/**
 * @throws Exception when the statement reaches a file, a program or another server in a way that rights do not cover
 */
export async function refuseReach({ query, body, settings = [] }: StatementText, canonical: Canonical): Promise<void> {
  // The engine takes the value of `{name:Identifier}` for a name that stands in the statement.
  for (const [name, value] of settings)
    if (name.startsWith('param_') && isReachingName(value)) throw refusal(`${name}=${value}`)
  const text = takesDataOnly(query) ? query : textOf(query, body)
  if (!isSuspicious(text)) return
  const form = await canonical(text.slice(0, TEXT_CHARACTERS_MAX))
  refuseForms(form)
  if (text.length > TEXT_CHARACTERS_MAX && !DATA_FOLLOW.test(emptied(form))) throw refusal('a text of that size')
  if (/^INSERT\b.* FORMAT Values$/.test(form)) await refuseInValues(text, canonical)
}

function isSuspicious(text: string): boolean {
  if (SUSPICIOUS.test(text)) return true
  const format = text.search(/format/i)
  return format >= 0 && text.lastIndexOf('(') > format
}

/** @throws Exception when the statement writes its result into a file, which the engine takes for reading */
export async function refuseOutfile({ query, body }: StatementText, canonical: Canonical): Promise<void> {
  const text = textOf(query, body)
  if (/outfile/i.test(text) && TO_FILE.test(emptied(await canonical(text)))) throw refusal('INTO OUTFILE')
}

/** VALUES are expressions, and are not part of the canonical form. */
async function refuseInValues(text: string, canonical: Canonical): Promise<void> {
  if (!NAMES_IN_DATA.test(text)) return
  const values = valuesOf(text)
  if (values === undefined) throw refusal('VALUES with such words behind another form than INSERT INTO table (columns)')
  refuseForms(await canonical(`SELECT ${values}`))
}

function refuseForms(canonical: string): void {
  const bare = emptied(canonical)
  if (SETS_PARAMETER.test(canonical)) throw refusal('such a value of a parameter')
  if (NAMED_LATER.test(bare)) throw refusal('a definition with a parameter of type Identifier')
  refuseDefaults(canonical)
  const attach = bare.search(/\bATTACH\b/i)
  if (attach >= 0 && bare.indexOf(" FROM '", attach) >= 0) throw refusal('ATTACH … FROM')
  for (const form of REFUSED) {
    const found = form.exec(bare)
    if (found !== null) throw refusal(found[0])
  }
  for (const [found, name] of bare.matchAll(ENGINE)) {
    if (!OWN_ENGINE.test(name!)) throw refusal(found)
  }
  for (const { index, 0: call } of bare.matchAll(FORMAT_CALL)) {
    if (!PLAIN_FORMAT.test(canonical.slice(index + call.length))) throw refusal('format(Values')
  }
}

/** The structure of a table function is text, and may have expressions as defaults: one that is put together cannot be read. */
function refuseDefaults(canonical: string): void {
  for (const scanner = new Scanner(canonical); scanner.next(); ) {
    if (!STRUCTURED.has(scanner.token.toLowerCase()) || !scanner.next() || !scanner.is('(')) continue
    for (let depth = 1; depth > 0 && scanner.next(); ) {
      if (scanner.is('(')) depth++
      else if (scanner.is(')')) depth--
      else if (scanner.is('||') || scanner.is('CONCAT')) throw refusal('a structure that is put together')
      else if (scanner.kind === 'string' && hasExpression(scanner.token)) throw refusal('a structure with DEFAULT')
    }
  }
}

const STRUCTURED = new Set(['format', 'values', 'input', 'generaterandom', 'null'])

/** Whether a structure gives a column an expression that calls something. */
function hasExpression(structure: string): boolean {
  const at = structure.search(/\b(?:DEFAULT|MATERIALIZED|ALIAS|EPHEMERAL)\b/i)
  return at >= 0 && structure.indexOf('(', at) >= 0
}

/** Of the same length, so that places in one are places in the other. */
function emptied(canonical: string): string {
  const quoted = /'(?:[^'\\]|\\[\s\S])*'|`(?:[^`\\]|\\[\s\S])*`/g
  return canonical.replace(quoted, (piece) => `${piece[0]}${'_'.repeat(piece.length - 2)}${piece[0]}`)
}

function textOf(query: string, body: Uint8Array): string {
  return `${query}\n${Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')}`
}

function refusal(what: string): Exception {
  const message = `The embedded ClickHouse reaches no files, programs and other servers: ${what} is refused. CLICKHOUSE_EXTERNAL=on allows it. (ACCESS_DENIED)`
  return new Exception(Code.AccessDenied, message)
}
