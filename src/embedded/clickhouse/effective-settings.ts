import type { Canonical } from './reach.ts'
import { Scanner } from './scanner.ts'

/** The settings of a statement by name. Its own clause overrides its URL, and that overrides its session. */
export type EffectiveSettings = ReadonlyMap<string, string>

/** Settings in a SETTINGS clause that this server implements, besides the engine. */
const IN_CLAUSE = [
  'session_timezone',
  'output_format_json_array_of_rows',
  'output_format_native_encode_types_in_binary_format',
]
const MENTIONED = new RegExp(IN_CLAUSE.join('|'), 'i')

/** @param text text of a statement without the data of an INSERT */
export async function effectiveSettings(
  text: string,
  inherited: EffectiveSettings,
  canonical: Canonical,
): Promise<EffectiveSettings> {
  if (!MENTIONED.test(text)) return inherited
  return new Map([...inherited, ...clauseSettings(await canonical(text))])
}

/** Words that end a SETTINGS clause. */
const CLAUSE_ENDS = new Set(['SELECT', 'WITH', 'FROM', 'FORMAT', 'INTO', 'VALUES', 'AS'])
const OPENING = new Set(['(', '[', '{'])
const CLOSING = new Set([')', ']', '}'])
/** Words between two SELECTs. Of the clauses in such a query, ClickHouse applies the last one. */
const SET_OPERATIONS = new Set(['UNION', 'INTERSECT', 'EXCEPT'])

/** The settings in a canonical statement's own SETTINGS clause, without those of subqueries. */
export function clauseSettings(canonical: string): Map<string, string> {
  const settings = new Map<string, string>()
  let [depth, isClause, last] = [0, false, '']
  let name: string | undefined
  for (const scanner = new Scanner(canonical); scanner.next(); ) {
    const { kind, token } = scanner
    if (kind === 'symbol' && OPENING.has(token)) depth++
    else if (kind === 'symbol' && CLOSING.has(token)) depth--
    else if (depth === 0) {
      if (token === 'SETTINGS' && last !== 'AS') isClause = true
      else if (SET_OPERATIONS.has(token)) settings.clear()
      if (CLAUSE_ENDS.has(token) || SET_OPERATIONS.has(token)) isClause = false
      if (token === ',' || !isClause) name = undefined
      else if (token === '=') {
        name = last
        settings.delete(name)
      }
      // The sign and the fraction of a number are separate tokens.
      else if (name !== undefined) settings.set(name, (settings.get(name) ?? '') + unquoted(scanner))
      last = token
    }
  }
  return settings
}

function unquoted({ kind, token }: Scanner): string {
  return kind === 'string' ? token.slice(1, -1).replace(/\\([\s\S])/g, '$1') : token
}

/** Whether a boolean setting is on. */
export function isOn(value: string | null | undefined): boolean {
  return value === '1' || value === 'true'
}
