import { readEngineSettings } from './engine-settings.ts'
import { Code, Exception } from './exception.ts'
import { Scanner } from './scanner.ts'

/**
 * The engine holds its constraints against the settings of a request, of SET and of a statement's own clause. It applies those in
 * the clause of a subquery, and of a view, without a look: these are refused here.
 */

let refused: ReadonlySet<string> | undefined

/** @throws Exception when a SETTINGS clause of the canonical statement, at any depth, has a setting that is refused */
export function refuseClauses(canonical: string): void {
  for (const name of clauseNames(canonical)) {
    refused ??= new Set(readEngineSettings().refused)
    if (!refused.has(name)) continue
    throw new Exception(
      Code.SettingConstraintViolation,
      `Setting ${name} should not be changed. (SETTING_CONSTRAINT_VIOLATION)`,
    )
  }
}

/** Names that stand before `=`, after SETTINGS or a comma in its clause. Names of columns in a list that follows may be among them. */
function* clauseNames(canonical: string): Generator<string> {
  let isClause = false
  let [beforeLast, last] = ['', '']
  for (const scanner = new Scanner(canonical); scanner.next(); ) {
    const { token } = scanner
    if (token === '=' && isClause && (beforeLast === 'SETTINGS' || beforeLast === ',')) yield last.replaceAll('`', '')
    if (token === 'SETTINGS') isClause = true
    else if (token === 'SELECT' || token === 'WITH' || token === 'FROM') isClause = false
    ;[beforeLast, last] = [last, token]
  }
}
