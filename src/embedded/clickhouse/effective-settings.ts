import type { Canonical } from './reach.ts'

/** Settings by name, as a statement finds them: its session's, its URL's over those, and its own clause's over both. */
export type EffectiveSettings = ReadonlyMap<string, string>

/** Settings that change what is answered, besides what the engine does, and that a SETTINGS clause may give. */
const IN_CLAUSE = [
  'session_timezone',
  'output_format_json_array_of_rows',
  'output_format_native_encode_types_in_binary_format',
]
const MENTIONED = new RegExp(IN_CLAUSE.join('|'), 'i')

/** @param text of a statement, without the data of an INSERT */
export async function effectiveSettings(
  text: string,
  inherited: EffectiveSettings,
  canonical: Canonical,
): Promise<EffectiveSettings> {
  if (!MENTIONED.test(text)) return inherited
  return new Map([...inherited, ...clauseSettings(await canonical(text))])
}

const TOKEN = /'(?:[^'\\]|\\[\s\S])*'|`(?:[^`\\]|\\[\s\S])*`|[()[\]{}]|[\w.-]+|=/g
/** Words that end a SETTINGS clause. */
const CLAUSE_ENDS = new Set(['SELECT', 'WITH', 'FROM', 'FORMAT', 'INTO', 'VALUES', 'AS'])
/** Words between two SELECTs: of the clauses in them, ClickHouse applies the last one. */
const SET_OPERATIONS = new Set(['UNION', 'INTERSECT', 'EXCEPT'])

/** Settings of a canonical statement's own SETTINGS clause; those of its subqueries are left out. */
export function clauseSettings(canonical: string): Map<string, string> {
  const settings = new Map<string, string>()
  let depth = 0
  let isClause = false
  let [beforeLast, last] = ['', '']
  for (const [token] of canonical.matchAll(TOKEN)) {
    if ('([{'.includes(token)) depth++
    else if (')]}'.includes(token)) depth--
    else if (depth > 0) continue
    else if (token === 'SETTINGS' && last !== 'AS') isClause = true
    else if (CLAUSE_ENDS.has(token)) isClause = false
    else if (SET_OPERATIONS.has(token)) {
      isClause = false
      settings.clear()
    } else if (isClause && last === '=') settings.set(beforeLast, unquoted(token))
    if (depth === 0) [beforeLast, last] = [last, token]
  }
  return settings
}

function unquoted(token: string): string {
  return token.startsWith("'") ? token.slice(1, -1).replace(/\\([\s\S])/g, '$1') : token
}

/** Whether a setting of two values is on. */
export function isOn(value: string | null | undefined): boolean {
  return value === '1' || value === 'true'
}
