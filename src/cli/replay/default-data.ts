import { type Config, defaultDataDirOf } from '../../config/config.ts'
import { makeDefaults } from '../../enrichment/files/defaults/make.ts'

/** The folder of the default data sets, made first where they are not: who judges again has to know what the service knows. */
export async function madeDefaults(config: Config): Promise<string | undefined> {
  const dir = defaultDataDirOf(config)
  if (dir !== undefined) await makeDefaults(dir)
  return dir
}
