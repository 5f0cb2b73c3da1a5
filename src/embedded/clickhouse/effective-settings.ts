import type { Canonical } from './reach.ts'
import { Scanner } from './scanner.ts'

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

/** Words that end a SETTINGS clause. */
const CLAUSE_ENDS = new Set(['SELECT', 'WITH', 'FROM', 'FORMAT', 'INTO', 'VALUES', 'AS'])
const OPENING = new Set(['(', '[', '{'])
const CLOSING = new Set([')', ']', '}'])
/** Words between two SELECTs: of the clauses in them, ClickHouse applies the last one. */
const SET_OPERATIONS = new Set(['UNION', 'INTERSECT', 'EXCEPT'])

/** Settings of a canonical statement's own SETTINGS clause; those of its subqueries are left out. */
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
      // A number may have a sign and a fraction, which are tokens of their own.
      else if (name !== undefined) settings.set(name, (settings.get(name) ?? '') + unquoted(scanner))
      last = token
    }
  }
  return settings
}

function unquoted({ kind, token }: Scanner): string {
  return kind === 'string' ? token.slice(1, -1).replace(/\\([\s\S])/g, '$1') : token
}

/** Whether a setting of two values is on. */
export function isOn(value: string | null | undefined): boolean {
  return value === '1' || value === 'true'
}
