import { type Config, defaultDataDirOf } from '../config/config.ts'
import { makeDefaults } from '../enrichment/files/defaults/make.ts'
import type { CliContext } from './context.ts'
import { printLine } from './print.ts'

/** The folder of the default data sets, which are made first where they are missing, so that a command judges as the service does. */
export async function madeDefaults(config: Config): Promise<string | undefined> {
  const dir = defaultDataDirOf(config)
  if (dir !== undefined) await makeDefaults(dir)
  return dir
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
