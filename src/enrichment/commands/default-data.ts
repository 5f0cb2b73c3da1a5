import { type Config, defaultDataDirOf, fetchedDirOf } from '../../config/config.ts'
import type { CliContext } from '../../terminal/context.ts'
import { printLine } from '../../terminal/print.ts'
import { makeDefaults } from '../files/defaults/make.ts'
import type { DataFolders } from '../todays-data.ts'

/** The folder of the default data sets, which are made first where they are missing, so that a command judges as the service does. */
async function madeDefaults(config: Config): Promise<string | undefined> {
  const dir = defaultDataDirOf(config)
  if (dir !== undefined) await makeDefaults(dir)
  return dir
}

/** The folders of the data that the service has. Default sets that are missing are made first. */
export async function madeData(config: Config): Promise<DataFolders> {
  const defaultsDir = await madeDefaults(config)
  return { dir: config.enrichDir, defaultsDir, fetchedDir: fetchedDirOf(config) }
}

/** As `madeDefaults`. Where they cannot be made, says why on standard error; what is in the folder serves. */
export async function madeDefaultsOrNone(config: Config, { stderr }: CliContext): Promise<string | undefined> {
  try {
    return await madeDefaults(config)
  } catch (error) {
    printLine(stderr, `ipid: the default data cannot be made: ${(error as Error).message}`)
    return defaultDataDirOf(config)
  }
}
