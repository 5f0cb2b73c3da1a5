import { readFile } from 'node:fs/promises'
import { SETTINGS } from '../../config/settings.ts'
import { findService, lineWithSettings } from '../service/find.ts'
import { type Finding, findingsOf, type Subject } from './finding.ts'

/** Whether this command knows the settings of the service of systemd that has this DATA_DIR and does not run. */
export async function checkService({ dir, config, running }: Subject): Promise<Finding[]> {
  const service = dir && (await findService(dir.path))
  // The settings of a running one are taken from it.
  if (service === undefined || running !== undefined) return []
  const { risk, fine } = findingsOf('service')
  const { name, environmentFile } = service
  const text = await readFile(environmentFile, 'utf8').catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' ? '' : undefined,
  )
  const given = new Set(config.given.map((setting) => SETTINGS[setting].env))
  const isKnown =
    text !== undefined && namesIn(text).every((env) => given.has(env.replace(/_FILE$/, '')) || !isSetting(env))
  if (isKnown) return [fine(`the settings of ${name}.service are known`)]
  return [
    risk(
      `${name}.service has settings in ${environmentFile} that this command was not given`,
      'The other checks looked at other settings than those of the service.',
      `${lineWithSettings(service, 'doctor')}; journalctl -u ${name} -n 20 has the reason why it does not start`,
    ),
  ]
}

const namesIn = (text: string): string[] => [...text.matchAll(/^(\w+)=/gm)].map(([, name]) => name!)

const isSetting = (name: string): boolean =>
  Object.values(SETTINGS).some(({ env }) => env === name || `${env}_FILE` === name)
