import { setPriority } from 'node:os'
import { type Config, defaultDataDirOf, enrichCacheOf, sourcesDirOf } from '../../config/config.ts'
import { lowerSession } from '../../embedded/processes/session-priority.ts'
import type { CliContext } from '../../terminal/context.ts'
import { printJson } from '../../terminal/print.ts'
import { compileFolder } from '../files/compiled/compile.ts'
import { makeDefaults } from '../files/defaults/make.ts'

/** The machine belongs to the processes that serve, but on a busy one this must come to an end, too: a tenth of a core. */
const LOW_PRIORITY = 10

export interface CompileChoice {
  readonly table: string | undefined
  readonly defaults: boolean
  readonly isUrgent: boolean
}

/**
 * Compiles what waits for it, for the processes that serve.
 * @param table the one table to compile, and nothing else
 * @param defaults make the default data sets, and nothing else
 * @param isUrgent the service waits for it
 */
export async function compileData(
  config: Config,
  { table, defaults, isUrgent }: CompileChoice,
  { stdout }: CliContext,
): Promise<void> {
  if (!isUrgent) stepBack()
  if (!defaults) {
    for await (const { path, about } of compileFolder(sourcesDirOf(config), enrichCacheOf(config), table)) {
      printJson(stdout, { path, ...about })
    }
  }
  const defaultsDir = defaultDataDirOf(config)
  if (defaultsDir === undefined || table !== undefined) return
  for (const name of await makeDefaults(defaultsDir)) printJson(stdout, { name })
}

function stepBack(): void {
  setPriority(LOW_PRIORITY)
  lowerSession('self', LOW_PRIORITY)
}
