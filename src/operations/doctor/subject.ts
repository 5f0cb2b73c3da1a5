import { type Config, type Environment, ROLES, type Role } from '../../config/config.ts'
import { SETTINGS, type SettingName } from '../../config/settings.ts'
import { trustedDataDir } from '../../embedded/processes/data-dir.ts'
import { isHeld } from '../../run/socket-lock.mjs'
import { type InstanceFile, runningOn } from '../../terminal/instance.ts'
import { type Finding, findingsOf, type Subject } from './finding.ts'
import { problemOf } from './run-checks.ts'

/** The subject of a command. */
interface Asked {
  readonly config: Config
  readonly env: Environment
  /** Undefined: those of the running instance, or all. */
  readonly roles: readonly Role[] | undefined
}

/** The running instance with its settings; otherwise the settings of a start. */
export async function subjectOf({ config, env, roles = ROLES }: Asked): Promise<{
  readonly subject: Subject
  readonly findings: readonly Finding[]
}> {
  try {
    const dir = trustedDataDir(config.dataDir)
    const running = await runningOn(dir)
    if (running === undefined) {
      const held = await isHeld(dir.lock)
      return { subject: { config, env, roles, dir, running, isHeld: held }, findings: held ? [NOT_READY] : [] }
    }
    const { started } = running
    if (started === undefined) return { subject: { config, env, roles, dir, running, isHeld: true }, findings: [] }
    const settings = asStarted(config, running, started)
    const subject = { config: settings, env, roles: started.roles, dir, running, isHeld: true }
    return { subject, findings: unapplied(config, started) }
  } catch (error) {
    const why = 'ipid does not start on a folder that it cannot read, or that others may have changed.'
    const finding = problemOf('data-dir', error as Error, why)
    return { subject: { config, env, roles, dir: undefined, running: undefined, isHeld: false }, findings: [finding] }
  }
}

const NOT_READY = findingsOf('instance').risk(
  'an ipid has this DATA_DIR, but is not ready: it starts or stops',
  'Its stores could not be asked.',
  'run "./ipid doctor" again in a minute; if it stays so, its log says why',
)

type Started = NonNullable<InstanceFile['started']>

/** The settings of the running instance. The environment of this command may be another one. */
function asStarted(
  config: Config,
  running: InstanceFile,
  { given, roles: _, secretsKeyId: _id, ...settings }: Started,
): Config {
  const urlIf = (name: SettingName, url: string) => (given.includes(name) ? url : undefined)
  return {
    ...config,
    ...settings,
    redisUrl: urlIf('redisUrl', running.redis_url),
    clickhouseUrl: urlIf('clickhouseUrl', running.clickhouse_url),
    given,
  }
}

/** Settings of this environment that the running instance does not have. */
function unapplied(config: Config, started: Started): Finding[] {
  const { risk } = findingsOf('settings')
  const others = config.given.filter((name) => name in started && !isSame(config[name], started[name as keyof Started]))
  if (others.length === 0) return []
  const names = others.map((name) => SETTINGS[name].env).join(', ')
  const why =
    'A setting takes effect with the next start, and this may be another environment than that of the service.'
  return [
    risk(
      `the running ipid was started with another ${names}`,
      why,
      'restart ipid in this environment, or leave it as it is',
    ),
  ]
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
