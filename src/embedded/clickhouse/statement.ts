/** What has to be known about a statement's text before it runs; the engine alone parses it. */
export interface StatementShape {
  readonly isInsert: boolean
  readonly isEmpty: boolean
  /** An INSERT whose text ends where its data should begin. */
  readonly lacksData: boolean
  /** A second statement follows a semicolon. */
  readonly isMultiple: boolean
  /** Of the FORMAT clause that ends it. */
  readonly format: string | undefined
  /** It answers with rows that may be many: a SELECT in one of its forms. */
  readonly isSelect: boolean
  /** It changes nothing: a SELECT, SHOW, DESCRIBE, EXPLAIN, EXISTS or CHECK. */
  readonly isRead: boolean
  /** It changes what later statements of its session see: SET or USE. */
  readonly changesSession: boolean
  readonly isTemporaryTable: boolean
  readonly isKill: boolean
  /** It names a file for its result itself. */
  readonly hasFile: boolean
}

/** Where the data of an INSERT may begin: its text behind this is not looked at. */
const HEAD_CHARACTERS_MAX = 65_536

/** What nobody closes goes on to the end, so that no text is gone through more than once. */
const QUOTED_OR_COMMENT =
  /'(?:\\[\s\S]|''|[^'\\])*(?:'|\\?$)|"(?:\\[\s\S]|""|[^"\\])*(?:"|\\?$)|`(?:\\[\s\S]|``|[^`\\])*(?:`|\\?$)|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|#[! ][^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g

export function shapeOf(text: string): StatementShape {
  const head = trimmed(blanked(text.slice(0, HEAD_CHARACTERS_MAX)))
  const isInsert = /^[\s(]*INSERT\b/i.test(head)
  const bare = isInsert || text.length <= HEAD_CHARACTERS_MAX ? head : trimmed(blanked(text))
  const isSelect = /^[\s(]*(?:SELECT|WITH|FROM)\b/i.test(bare) && !/^\s*WITH\b.*\bINSERT\s+INTO\b/is.test(bare)
  return {
    isInsert,
    isEmpty: bare === '',
    lacksData: isInsert && /\b(?:FORMAT\s+\w+|VALUES)\s*$/i.test(bare),
    isMultiple: !isInsert && bare.includes(';'),
    format: isInsert ? undefined : formatClause(bare)?.[1],
    isSelect,
    isRead: isSelect || /^[\s(]*(?:SHOW|DESCRIBE|DESC|EXPLAIN|EXISTS|CHECK)\b/i.test(bare),
    changesSession: /^\s*(?:SET|USE)\b/i.test(bare),
    isTemporaryTable: /^\s*(?:CREATE|ATTACH)\b.*\bTEMPORARY\b/is.test(bare),
    isKill: /^\s*KILL\b/i.test(bare),
    hasFile: /\bINTO\s+OUTFILE\b/i.test(bare),
  }
}

/** The clause in which a trimmed text ends; or what looks like it, as `ORDER BY format DESC` does. */
function formatClause(bare: string): RegExpExecArray | undefined {
  const last = [...bare.matchAll(/\bFORMAT\s+(\w+)/gi)].at(-1)
  if (last === undefined) return undefined
  return /^\s*(?:SETTINGS\b[^;]*)?$/i.test(bare.slice(last.index + last[0].length)) ? last : undefined
}

/** Without blanks and semicolons at its end: by a pattern it took minutes where there are long blanks within. */
function trimmed(text: string): string {
  let end = text.length
  while (end > 0 && /[;\s]/.test(text[end - 1]!)) end--
  return text.slice(0, end)
}

/** The text with blanks for comments and for what is within quotes: places in one are places in the other. */
function blanked(text: string): string {
  return text.replace(QUOTED_OR_COMMENT, (piece) =>
    /^['"`$]/.test(piece) ? `${piece[0]}${' '.repeat(piece.length - 2)}${piece[0]}` : ' '.repeat(piece.length),
  )
}

/**
 * A SELECT whose result goes into a file. Where quotes and comments end is a guess for all but plain texts: what comes of
 * the others has to be compared.
 * @param hasFormat whether what looks like a FORMAT clause at the end of it is one
 */
export function selectIntoFile(text: string, path: string, hasFormat: boolean): string {
  const bare = trimmed(blanked(text))
  const at = (hasFormat ? formatClause(bare)?.index : undefined) ?? bare.length
  return `${text.slice(0, at)}\n${intoFile(path)}\n${text.slice(at, bare.length)}`
}

/** The clause by which a result goes into a file that is there. */
export function intoFile(path: string): string {
  return `INTO OUTFILE ${quote(path)} TRUNCATE`
}

/** Whether nobody can disagree about where its strings end: ASCII, simple strings, no other quotes, no comments. */
export function isPlain(text: string): boolean {
  return text.length <= PLAIN_CHARACTERS_MAX && PLAIN.test(text)
}

const PLAIN_CHARACTERS_MAX = 16_384
const PLAIN = /^(?:[\t\n\r !%&(-,.0-[\]^_a-~]|'[^'\\\0]*'|-(?!-)|\/(?![/*]))*$/

const NAME = '(?:\\w+|`[^`\\\\]+`|"[^"\\\\]+")'
const INTO = `\\s*INSERT\\s+INTO\\s+(?:TABLE\\s+)?${NAME}(?:\\.${NAME})?\\s*(?:\\([^()]*\\))?`
const SETTING = "\\w+\\s*=\\s*(?:[\\w.-]+|'[^'\\\\]*')"
/** VALUES are expressions, and belong to the statement. */
const PLAIN_INSERT = new RegExp(
  `^(${INTO})\\s*(SETTINGS\\s+${SETTING}(?:\\s*,\\s*${SETTING})*)?\\s*(FORMAT\\s+(?!VALUES\\s*$)\\w+)\\s*$`,
  'i',
)
const INSERT_VALUES = new RegExp(`^${INTO}\\s*(?:FORMAT\\s+)?VALUES\\b`, 'i')

/** Whether the query is an INSERT of the plain form, which nothing but data can follow. */
export function takesDataOnly(query: string): boolean {
  return PLAIN_INSERT.test(query)
}

/** What follows VALUES in a plain INSERT; undefined when the text has another form. */
export function valuesOf(text: string): string | undefined {
  const match = INSERT_VALUES.exec(text)
  return match === null ? undefined : trimmed(text.slice(match[0].length))
}

/** An INSERT of the plain form, its data taken from a file; undefined when it has another form. */
export function insertFromFile(query: string, path: string): string | undefined {
  const match = PLAIN_INSERT.exec(query)
  // The engine takes these for a pattern of several files.
  if (match === null || /[*?{}]/.test(path)) return undefined
  return `${match[1]} FROM INFILE ${quote(path)} ${match[2] ?? ''} ${match[3]}`
}

/** A string as SQL. */
export function quote(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

/** An identifier as SQL. */
export function quoteName(name: string): string {
  return `\`${name.replace(/[\\`]/g, '\\$&')}\``
}
