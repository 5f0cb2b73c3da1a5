import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { factsOfUnit, isOurUnit } from './unit.ts'

/** A service of this machine that `ipid service install` made. */
export interface FoundService {
  readonly name: string
  readonly user: string
  readonly dataDir: string
  readonly environmentFile: string
}

/**
 * The service of systemd whose data are in this folder; undefined when there is none, or this user cannot read its unit.
 * @param dataDir absolute, without symbolic links
 */
export async function findService(dataDir: string, units = '/etc/systemd/system'): Promise<FoundService | undefined> {
  const files = await readdir(units).catch(() => [])
  for (const file of files.filter((name) => name.endsWith('.service'))) {
    const unit = await readFile(join(units, file), 'utf8').catch(() => '')
    if (!isOurUnit(unit)) continue
    const { dataDir: found, user, environmentFile } = factsOfUnit(unit)
    if (found === dataDir && user !== undefined && environmentFile !== undefined)
      return { name: basename(file, '.service'), user, dataDir, environmentFile }
  }
  return undefined
}

/** A line of sh that runs a command of ipid as the user of a service, with its settings. */
export function lineWithSettings({ user, dataDir, environmentFile }: FoundService, command: string): string {
  return `sudo sh -c 'set -a; . ${environmentFile}; DATA_DIR=${dataDir}; exec runuser -u ${user} -- ./ipid ${command}'`
}
