import { readEngineSettings } from './engine-settings.ts'
import { Code, Exception } from './exception.ts'
import { Scanner } from './scanner.ts'

/**
 * The engine checks its constraints on settings of a request, of SET and of a statement's own clause, but not on those in the
 * SETTINGS clause of a subquery or a view. These are refused here.
 */

let refused: ReadonlySet<string> | undefined

/** @throws Exception when a SETTINGS clause at any depth of the canonical statement has a refused setting */
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

/** Names before `=` in SETTINGS clauses. May include names of columns in a list that follows. */
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
