import { setPriority } from 'node:os'
import { type Config, defaultDataDirOf, enrichCacheOf, sourcesDirOf } from '../../config/config.ts'
import { lowerSession } from '../../embedded/processes/session-priority.ts'
import type { CliContext } from '../../terminal/context.ts'
import { printJson } from '../../terminal/print.ts'
import { compileFolder } from '../files/compiled/compile.ts'
import { decideDefaults, makeDefaults } from '../files/defaults/make.ts'

/** Serving processes go first. On a busy machine a compilation still gets a tenth of a core. */
const LOW_PRIORITY = 10

interface CompileChoice {
  readonly table: string | undefined
  readonly defaults: boolean
  readonly isUrgent: boolean
}

/**
 * Compiles big tables and makes default data sets, so that serving processes need not.
 * @param table compile only this table
 * @param defaults make only the default data sets
 * @param isUrgent the service is waiting: the decisions of the rules, which take ten seconds, are left for later
 */
export async function compileData(
  config: Config,
  { table, defaults, isUrgent }: CompileChoice,
  { stdout }: CliContext,
): Promise<void> {
  if (!isUrgent) lowerPriority()
  if (!defaults) {
    for await (const { path, about } of compileFolder(sourcesDirOf(config), enrichCacheOf(config), table)) {
      printJson(stdout, { path, ...about })
    }
  }
  const defaultsDir = defaultDataDirOf(config)
  if (defaultsDir === undefined || table !== undefined) return
  for (const name of await makeDefaults(defaultsDir)) printJson(stdout, { name })
  if (!isUrgent) for (const name of await decideDefaults(defaultsDir)) printJson(stdout, { name, decided: true })
}

function lowerPriority(): void {
  setPriority(LOW_PRIORITY)
  lowerSession('self', LOW_PRIORITY)
}
