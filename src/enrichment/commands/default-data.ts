import { type Config, defaultDataDirOf, fetchedDirOf } from '../../config/config.ts'
import type { CliContext } from '../../terminal/context.ts'
import { printLine } from '../../terminal/print.ts'
import { makeDefaults } from '../files/defaults/make.ts'
import type { DataFolders } from '../todays-data.ts'

/** Makes missing default data sets, so that a command judges as the service does. @returns their folder */
async function madeDefaults(config: Config): Promise<string | undefined> {
  const dir = defaultDataDirOf(config)
  if (dir !== undefined) await makeDefaults(dir)
  return dir
}

/** The data folders of the service, with the default data sets made. */
export async function madeData(config: Config): Promise<DataFolders> {
  const defaultsDir = await madeDefaults(config)
  return { dir: config.enrichDir, defaultsDir, fetchedDir: fetchedDirOf(config) }
}

/** As `madeDefaults`. On failure it prints the reason to standard error and uses the folder as it is. */
export async function madeDefaultsOrNone(config: Config, { stderr }: CliContext): Promise<string | undefined> {
  try {
    return await madeDefaults(config)
  } catch (error) {
    printLine(stderr, `ipid: the default data cannot be made: ${(error as Error).message}`)
    return defaultDataDirOf(config)
  }
}
