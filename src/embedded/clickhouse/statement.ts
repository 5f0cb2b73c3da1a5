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
  /** Its result can be handed on piece by piece: one plain SELECT whose format is rows and nothing else. */
  isStreamable(defaultFormat: string): boolean
}

/** Where the data of an INSERT may begin: text behind this is not looked at. */
const HEAD_CHARACTERS_MAX = 65_536

const QUOTED_OR_COMMENT =
  /'(?:\\[\s\S]|''|[^'\\])*'|"(?:\\[\s\S]|""|[^"\\])*"|`(?:\\[\s\S]|``|[^`\\])*`|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|#[! ][^\n]*|\/\*[\s\S]*?\*\//g

/** Formats without anything before, between or behind the rows, so that pieces add up to the whole. */
const ROW_FORMATS = new Set([
  'TabSeparated',
  'TSV',
  'TabSeparatedRaw',
  'TSVRaw',
  'Raw',
  'CSV',
  'JSONEachRow',
  'JSONLines',
  'NDJSON',
  'JSONStringsEachRow',
  'JSONCompactEachRow',
  'JSONCompactStringsEachRow',
  'LineAsString',
  'RowBinary',
  'Native',
])

export function shapeOf(text: string): StatementShape {
  const bare = bareOf(text)
  const isInsert = /^[\s(]*INSERT\b/i.test(bare)
  const format = /\bFORMAT\s+(\w+)\s*(?:SETTINGS\b[^;]*)?[;\s]*$/i.exec(bare)?.[1]
  return {
    isInsert,
    isEmpty: /^[\s;]*$/.test(bare),
    lacksData: isInsert && /\b(?:FORMAT\s+\w+|VALUES)\s*$/i.test(bare),
    isMultiple: !isInsert && /;[\s;]*[^\s;]/.test(bare),
    format: isInsert ? undefined : format,
    isStreamable: (defaultFormat) => ROW_FORMATS.has(format ?? defaultFormat) && isPlainSelect(bare),
  }
}

/**
 * The engine works out scalar subqueries before it answers the first piece, and lets nobody else in meanwhile; totals
 * would come behind every piece.
 */
function isPlainSelect(bare: string): boolean {
  const selects = bare.match(/\bSELECT\b/gi)?.length ?? 0
  return /^[\s(]*(?:SELECT|WITH|FROM)\b/i.test(bare) && selects === 1 && !/\b(?:TOTALS|INTO\s+OUTFILE)\b/i.test(bare)
}

/** The text without comments, and with every quoted piece emptied. */
function bareOf(text: string): string {
  return text
    .slice(0, HEAD_CHARACTERS_MAX)
    .replace(QUOTED_OR_COMMENT, (piece) => (/^['"`$]/.test(piece) ? `${piece[0]}${piece[0]}` : ' '))
}

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
  return match === null ? undefined : text.slice(match[0].length).replace(/[;\s]+$/, '')
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
