import { quoteName } from '../../stores/clickhouse/quote.ts'
import type { TableShape } from './ports.ts'

/*
 * A backup has the CREATE statement of each table that users added. The folder may have been tampered with, so a restore never
 * runs that text. It splits the text into tokens, allows only tokens that a table of plain rows needs, and builds a new
 * statement. Nothing that reads a file, a server or another table passes. A list of forbidden words would never be complete.
 */

/** Engines that keep their rows in ClickHouse's own folder. */
const ENGINES =
  /^(?:(?:Replacing|Summing|Aggregating|Collapsing|VersionedCollapsing)?MergeTree|Log|TinyLog|StripeLog|Memory)$/

/** Types, codecs and indexes that take arguments. */
const SHAPES =
  /^(?:(?:Fixed)?String|Enum(?:8|16)?|Decimal(?:32|64|128|256)?|DateTime(?:32|64)?|Time64|Nullable|LowCardinality|Array|Map|Tuple|Nested|Variant|(?:Simple)?AggregateFunction|CODEC|ZSTD|LZ4HC|Delta|DoubleDelta|Gorilla|FPC|T64|GCD|set|bloom_filter|ngrambf_v1|tokenbf_v1)$/

/** Pure functions. */
const FUNCTIONS =
  /^(?:to(?:YYYYMM|YYYYMMDD|YYYYMMDDhhmmss|Year|Month|DayOfWeek|DayOfMonth|Hour|Monday|StartOf[A-Z][A-Za-z]{2,12}|Interval[A-Z][a-z]{2,11}|Date|Date32|DateTime|DateTime64|UnixTimestamp|UnixTimestamp64Milli|U?Int\d{1,3}|Float\d\d|String|UUID|IPv[46]|TypeName)|now|now64|today|generateUUIDv[47]|cityHash64|sipHash64|sipHash128|xxHash(?:32|64)|farmHash64|murmurHash(?:2|3)_\d{2,3}|intHash(?:32|64)|MD5|SHA256|hex|unhex|tuple|tupleElement|array|map|mapKeys|mapValues|arrayElement|arrayJoin|if|multiIf|ifNull|nullIf|isNull|isNotNull|assumeNotNull|coalesce|lower|upper|lowerUTF8|upperUTF8|concat|length|empty|notEmpty|substring|trim|startsWith|endsWith|position|domain|CAST|and|or|not|equals|notEquals|less|greater|lessOrEquals|greaterOrEquals|plus|minus|multiply|divide|intDiv|modulo|negate|abs|round|floor|ceil|least|greatest|(?:count|sum|min|max|any|anyLast|avg|uniq|uniqExact|uniqCombined|argMin|argMax|groupArray|groupUniqArray|groupBitXor|quantile)(?:OrNull|OrDefault)?(?:If)?(?:State|Merge)?)$/

/** Keywords before a bracket that is not a call. */
const BEFORE_BRACKET =
  /^(?:BY|KEY|IN|AND|OR|NOT|DEFAULT|MATERIALIZED|ALIAS|EPHEMERAL|CHECK|ASSUME|TTL|SELECT|WHERE|SET)$/i

/** Words that would reach other tables, other storage, or another statement. */
const REFUSED =
  /^(?:FROM|JOIN|UNION|INTERSECT|EXCEPT|WITH|INTO|INFILE|OUTFILE|FORMAT|POPULATE|CLONE|EMPTY|APPLY|DISK|VOLUME|SQL|DEFINER|REFRESH)$/i

/** Harmless settings of a table. */
const SETTINGS =
  /^(?:index_granularity|index_granularity_bytes|(?:non_replicated|replicated)_deduplication_window|lightweight_mutation_projection_mode|deduplicate_merge_projection_mode|allow_nullable_key|ttl_only_drop_parts|min_(?:bytes|rows)_for_wide_part|merge_with_ttl_timeout|enable_block_(?:number|offset)_column|remove_empty_parts|allow_part_offset_column_in_projections|add_minmax_index_for_numeric_columns)$/

const TOKEN = /[A-Za-z_]\w*|\d[\w.]*|->|::|!=|<>|<=|>=|\|\||[(),=.+\-*/%<>![\]:?]/y

/**
 * A safe statement that creates a table of a backup in the current database.
 * @throws Error that names the forbidden part
 */
export function createRestored({ table, create }: Pick<TableShape, 'table' | 'create'>): string {
  const tokens = tokensOf(create)
  const name = tokens[2] !== undefined && tokens[3] === '.' ? 4 : 2
  const isCreate = /^CREATE TABLE$/i.test(tokens.slice(0, 2).join(' '))
  if (!isCreate || nameOf(tokens[name]) !== table || tokens[name + 1] !== '(') {
    throw new Error('its statement is not CREATE TABLE with its name and columns')
  }
  const body = tokens.slice(name + 1)
  assertPlain(body)
  return `CREATE TABLE ${quoteName(table)} ${body.join(' ')}`
}

function assertPlain(tokens: readonly string[]): void {
  let depth = 0
  let clause: 'SETTINGS' | undefined
  let engines = 0
  for (const [at, token] of tokens.entries()) {
    if (token === '(') {
      assertCall(tokens, at, depth)
      depth++
    }
    if (token === ')' && --depth < 0) throw new Error('a closing bracket too many in its statement')
    const isSetting = depth === 0 && clause === 'SETTINGS' && tokens[at + 1] === '='
    if (isSetting && !SETTINGS.test(token)) throw new Error(`the setting ${token} in its statement`)
    if (!/^[A-Za-z_]/.test(token)) continue
    if (/^IN$/i.test(token)) assertValues(tokens, at + 1)
    if (REFUSED.test(token)) throw new Error(`${token} in its statement`)
    if (/^SELECT$/i.test(token) && !isProjection(tokens, at)) throw new Error('SELECT in its statement')
    if (depth > 0) continue
    if (/^AS$/i.test(token)) throw new Error('AS in its statement')
    if (/^ENGINE$/i.test(token) && tokens[at + 1] === '=') {
      engines++
      if (!ENGINES.test(tokens[at + 2] ?? '')) throw new Error(`the engine ${tokens[at + 2]} in its statement`)
    }
    // After SETTINGS only settings have a =.
    if (/^SETTINGS$/i.test(token)) clause = 'SETTINGS'
  }
  if (depth !== 0 || engines !== 1) throw new Error('its statement is incomplete')
}

/**
 * Checks the name before a bracket: it must be an allowed function, type or engine. PROJECTION, INDEX, CONSTRAINT and ENGINE
 * count as keywords only in their own position, because a column may have that name.
 * @param depth of open brackets
 */
function assertCall(tokens: readonly string[], at: number, depth: number): void {
  const before = tokens[at - 1] ?? ''
  // After a literal or an operator, it is not a call.
  if (!/^[A-Za-z_`"]/.test(before) || BEFORE_BRACKET.test(before)) return
  const isListed = depth === 1 && /^[,(]$/.test(tokens[at - 3] ?? '')
  if (isListed && /^(?:PROJECTION|INDEX|CONSTRAINT)$/i.test(tokens[at - 2] ?? '')) return
  if (depth === 0 && tokens[at - 2] === '=' && /^ENGINE$/i.test(tokens[at - 3] ?? '')) return
  if (!SHAPES.test(before) && !FUNCTIONS.test(before)) throw new Error(`${before}( in its statement`)
}

/** After IN, a name alone is a table. @param at of the first token after IN */
function assertValues(tokens: readonly string[], at: number): void {
  let first = at
  while (tokens[first] === '(') first++
  const token = tokens[first] ?? ''
  const isName = /^[A-Za-z_`"]/.test(token) && !/^(?:NULL|true|false)$/i.test(token)
  if (isName && tokens[first + 1] !== '(') throw new Error(`IN ${token} in its statement`)
}

function isProjection(tokens: readonly string[], at: number): boolean {
  return tokens[at - 1] === '(' && /^PROJECTION$/i.test(tokens[at - 3] ?? '')
}

/** @throws Error at a comment, a parameter, or any other text that a plain statement lacks */
function tokensOf(text: string): string[] {
  const tokens: string[] = []
  for (let at = 0; at < text.length; ) {
    const character = text[at]!
    if (/\s/.test(character)) {
      at++
      continue
    }
    const end = '\'`"'.includes(character) ? endOfQuoted(text, at) : endOfToken(text, at)
    tokens.push(text.slice(at, end))
    at = end
  }
  return tokens
}

function endOfToken(text: string, at: number): number {
  TOKEN.lastIndex = at
  const isComment = text.startsWith('--', at) || text.startsWith('/*', at)
  if (isComment || !TOKEN.test(text)) throw new Error(`${JSON.stringify(text.slice(at, at + 20))} in its statement`)
  return TOKEN.lastIndex
}

function endOfQuoted(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === text[start]) return at + 1
  }
  throw new Error('an unclosed quote in its statement')
}

function nameOf(token: string | undefined): string | undefined {
  if (token === undefined || !'`"'.includes(token[0]!)) return token
  return token.slice(1, -1).replace(/\\(.)/g, '$1')
}
