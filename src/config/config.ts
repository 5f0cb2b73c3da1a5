import { join, resolve } from 'node:path'
import type { Plans } from '../../schemas/plans.ts'
import type { ArchiveLocation } from '../pipeline/declaration/destination.ts'
import { InputError } from '../run/errors.ts'
import { readPlans } from './plans-file.ts'
import { fileVariableOf, variableOrFile } from './secret-files.ts'
import type { Setting } from './setting.ts'
import { flagOf, SETTINGS, type SettingName, type Settings } from './settings.ts'
import { shown } from './values.ts'

/** The roles of a process. `ipid start` without `--roles` runs all of them. */
export const ROLES = ['ingress', 'process', 'sink', 'batch', 'archive', 'dashboard'] as const
export type Role = (typeof ROLES)[number]

/** All settings, validated. Frozen, and can be sent to another process unchanged. */
export interface Config extends Settings {
  /** The default plans and those of `PLANS_FILE`, by name. */
  readonly plans: Plans
  /** Settings that a flag or a variable gives; all others have their defaults. */
  readonly given: readonly SettingName[]
  /** Values of the settings that the pipeline's sources and sinks declare, by environment variable: see `ownValues`. */
  readonly own: Readonly<Record<string, unknown>>
  /** Of a command beside a running instance: why it must not encrypt secrets. Undefined when it has the instance's key. */
  readonly sealRefusal?: string | undefined
}

/** The location of the raw archive. */
export function archiveLocationOf({ archiveUrl, dataDir }: Pick<Config, 'archiveUrl' | 'dataDir'>): ArchiveLocation {
  return archiveUrl ?? { folder: join(dataDir, 'archive') }
}

/** The roles that use a secret. Those that a setting is not listed for never see its value. */
const USERS_OF_SECRETS: Partial<Record<SettingName, readonly Role[]>> = {
  secretsKey: ['ingress', 'sink', 'batch', 'dashboard'],
  smtpUrl: ['sink', 'dashboard'],
  oidcClientSecret: ['dashboard'],
}

/** Variables of the AWS SDK, among them credentials. */
const AWS_VARIABLE = /^AWS_/
/** The roles that use a bucket: of ARCHIVE_URL, of BACKUP_URL, or of sources that are fetched with the credentials of the instance. */
const USERS_OF_BUCKETS: readonly string[] = ['ingress', 'sink', 'batch', 'archive', 'dashboard'] satisfies Role[]

/** Whether one of the roles uses a secret. */
export function usesSecret(roles: readonly string[], name: SettingName): boolean {
  const users: readonly string[] = USERS_OF_SECRETS[name] ?? roles
  return roles.some((role) => users.includes(role))
}

/** Whether one of the roles uses a bucket, and so the credentials of S3. */
export function usesBuckets(roles: readonly string[]): boolean {
  return roles.some((role) => USERS_OF_BUCKETS.includes(role))
}

/** The settings for a process with these roles: without the secrets that none of them uses. */
export function configOfRoles<C extends Settings>(config: C, roles: readonly string[]): C {
  const unused = (Object.keys(USERS_OF_SECRETS) as SettingName[]).filter((name) => !usesSecret(roles, name))
  return { ...config, ...Object.fromEntries(unused.map((name) => [name, undefined])) }
}

/**
 * The variables of a process with these roles, which is sent its settings: without those that may hold a secret, and without those of AWS
 * when no role uses a bucket.
 * @param own the settings that the pipeline declares
 */
export function environmentOfRoles(
  env: Environment,
  roles: readonly string[],
  own: readonly Setting<unknown>[] = [],
): Environment {
  const settings: readonly Setting<unknown>[] = [...Object.values(SETTINGS), ...own]
  const secrets = new Set(settings.flatMap((setting) => (setting.holdsSecret ? [setting.env] : [])))
  const mayUseBuckets = usesBuckets(roles)
  const isKept = (name: string) => !secrets.has(name) && (mayUseBuckets || !AWS_VARIABLE.test(name))
  return Object.fromEntries(Object.entries(env).filter(([name]) => isKept(name)))
}

/** Folder of the enrichment data that this machine compiled. */
export function enrichCacheOf({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'enrich-cache')
}

/** The folder of `ipid db add` and `ipid db update`: ENRICH_DIR, or one under DATA_DIR. */
export function sourcesDirOf({ dataDir, enrichDir }: Pick<Config, 'dataDir' | 'enrichDir'>): string {
  return enrichDir ?? join(dataDir, 'enrich')
}

/** Folder of downloaded data beside the starter data; undefined when ENRICH_DIR replaces both. */
export function fetchedDirOf(config: Pick<Config, 'dataDir' | 'enrichDir'>): string | undefined {
  return config.enrichDir === undefined ? sourcesDirOf(config) : undefined
}

/** Folder of the default data sets; undefined when they are off. */
export function defaultDataDirOf({ dataDir, enrichDir, defaultData }: DataSettings): string | undefined {
  const isOn = defaultData === 'auto' ? enrichDir === undefined : defaultData === 'on'
  return isOn ? packedDataDirOf({ dataDir }) : undefined
}

/** Folder of the default data sets and of the packed starter table, which serves also when the sets are off. */
export function packedDataDirOf({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'enrich-default')
}

type DataSettings = Pick<Config, 'dataDir' | 'enrichDir' | 'defaultData'>

/** Values from the command line, by setting. They take precedence over the environment. */
export type Flags = { readonly [Name in SettingName]?: string }

/** Settings that the sources and sinks of a pipeline declare, and values from the command line by environment variable. */
interface PipelineSettings {
  readonly settings: readonly Setting<unknown>[]
  readonly flags?: Readonly<Record<string, string>>
}

/** The environment of a process. An empty variable counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the settings. Pure, except that it reads the files of secrets, and checks those that PLANS_FILE and ENRICH_DIR name.
 * @param taken the settings of this command, by default all: rules between settings apply only among these, and a secret's file that
 *   cannot be read leaves another setting unset
 * @param pipeline the settings of its sources and sinks; none by default: only `ipid start` needs them
 * @throws InputError with one line that lists every wrong setting: the flag or variable, its value, and what it must be, or
 *   which settings must go together
 */
export function readConfig(
  env: Environment,
  flags: Flags = {},
  taken: readonly SettingName[] = Object.keys(SETTINGS) as SettingName[],
  pipeline: PipelineSettings = { settings: [] },
): Config {
  const problems = new InputProblems()
  const config = readAround(problems, env, flags, taken, pipeline)
  problems.throwIfAny()
  return config
}

/**
 * Reads the settings of `ipid start`. A wrong one has its default, so that the others can be judged.
 * @returns the settings, and one line about each wrong one, as `readConfig` says it
 */
export function readWhatIsRight(
  env: Environment,
  flags: Flags,
  pipeline: PipelineSettings,
): { readonly config: Config; readonly problems: readonly string[] } {
  const problems = new InputProblems()
  const taken = Object.keys(SETTINGS) as SettingName[]
  return { config: readAround(problems, env, flags, taken, pipeline), problems: problems.messages }
}

function readAround(
  problems: InputProblems,
  env: Environment,
  flags: Flags,
  taken: readonly SettingName[],
  pipeline: PipelineSettings,
): Config {
  const isFromFile = (name: SettingName) => SETTINGS[name].holdsSecret && env[fileVariableOf(SETTINGS[name])]
  const unread = new Set(
    (Object.keys(SETTINGS) as SettingName[]).filter(
      (name) => !taken.includes(name) && isFromFile(name) && !isReadable(SETTINGS[name], env),
    ),
  )
  const given = (Object.keys(SETTINGS) as SettingName[]).filter(
    (name) => !unread.has(name) && (flags[name] ?? (env[SETTINGS[name].env] || isFromFile(name) || '')) !== '',
  )
  const values = Object.fromEntries(
    Object.entries(SETTINGS).map(([name, setting]) => [
      name,
      unread.has(name as SettingName)
        ? undefined
        : problems.of(() => readSetting(setting, env, flags[name as SettingName])),
    ]),
  ) as unknown as Settings
  const { clickhouseCluster, clickhouseHosts, clickhouseUrl } = values
  problems.of(() => {
    if (taken.includes('clickhouseCluster') && clickhouseCluster !== undefined && clickhouseUrl === undefined)
      throw new InputError('CLICKHOUSE_CLUSTER needs CLICKHOUSE_URL: the embedded engine is not a cluster')
    if (taken.includes('clickhouseHosts') && clickhouseHosts !== undefined && clickhouseCluster === undefined)
      throw new InputError('CLICKHOUSE_HOSTS needs CLICKHOUSE_CLUSTER: the hosts are those of a cluster')
  })
  problems.of(() =>
    named(SETTINGS.sinkShares, String(values.sinkShares), flags.sinkShares !== undefined, () => {
      if (taken.includes('sinkShares') && values.sinkShares > values.partitions)
        throw new InputError(`must be at most PARTITIONS, which is ${values.partitions}`)
    }),
  )
  problems.of(() => {
    if (taken.includes('hubspotUrl') && values.hubspotUrl?.startsWith('http:') && values.webhookPrivate !== 'on')
      throw new InputError('HUBSPOT_URL must be https, because it gets tokens; http needs WEBHOOK_PRIVATE=on')
  })
  problems.of(() => {
    const isGiven = (['oidcIssuer', 'oidcClientId', 'oidcClientSecret'] as const).map((name) => given.includes(name))
    if (taken.includes('oidcIssuer') && isGiven.includes(true) && isGiven.includes(false))
      throw new InputError('OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET go together: set all three, or none')
  })
  problems.of(() => {
    if (taken.includes('backupUrl')) assertApart(values)
  })
  const byVariable = Object.fromEntries(pipeline.settings.map((setting) => [setting.env, setting]))
  const own: Record<string, unknown> = Object.fromEntries(
    pipeline.settings.map((setting) => [
      setting.env,
      problems.of(() => readOwnSetting(setting, env, pipeline.flags?.[setting.env])),
    ]),
  )
  const plans =
    problems.of(() =>
      named(SETTINGS.plansFile, values.plansFile ?? '', flags.plansFile !== undefined, () =>
        readPlans(values.plansFile),
      ),
    ) ?? readPlans(undefined)
  return Object.freeze({ ...withDefaults(SETTINGS, values), plans, given, own: withDefaults(byVariable, own) })
}

/** @throws InputError when backups would lie in the archive, or the archive among the backups */
function assertApart({ backupUrl, archiveUrl, dataDir }: Settings): void {
  if (backupUrl === undefined || dataDir === undefined) return
  const archive = archiveLocationOf({ archiveUrl, dataDir })
  const isInside = isWithin(backupUrl, archive)
  // The archive is under DATA_DIR by default, where a folder around it is no mistake.
  if (!isInside && (archiveUrl === undefined || !isWithin(archive, backupUrl))) return
  const where = archiveUrl === undefined ? 'the archive under DATA_DIR' : 'ARCHIVE_URL'
  throw new InputError(
    `BACKUP_URL lies ${isInside ? 'in' : 'around'} ${where}: erasures, retention and old backups need a place each; give BACKUP_URL ${'folder' in backupUrl ? 'another folder' : 'another bucket or prefix'}`,
  )
}

/** Whether a place is another one or lies in it. */
function isWithin(inner: ArchiveLocation, outer: ArchiveLocation): boolean {
  if ('folder' in inner || 'folder' in outer) {
    return 'folder' in inner && 'folder' in outer && `${resolve(inner.folder)}/`.startsWith(`${resolve(outer.folder)}/`)
  }
  if (inner.bucket !== outer.bucket || inner.endpoint !== outer.endpoint) return false
  return outer.prefix === '' || `${inner.prefix}/`.startsWith(`${outer.prefix}/`)
}

/** Whether the file of a secret can be read. One that a command does not take must not stop it. */
function isReadable(setting: Setting<unknown>, env: Environment): boolean {
  try {
    variableOrFile(setting, env)
    return true
  } catch {
    return false
  }
}

/** A setting that could not be read gets its default. */
function withDefaults<T extends object>(settings: Readonly<Record<string, Setting<unknown>>>, values: T): T {
  const read = ([name, value]: [string, unknown]) => [name, value ?? readSetting(settings[name]!, {}, undefined)]
  return Object.fromEntries(Object.entries(values).map(read)) as T
}

/** Collects the errors of several inputs, so that a user can correct all of them at once. */
export class InputProblems {
  readonly #messages: string[] = []

  get messages(): readonly string[] {
    return this.#messages
  }

  /** Runs `read`. @returns its result; undefined when it threw an `InputError`, which is kept */
  of<T>(read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      this.#messages.push(error.message)
      return undefined
    }
  }

  /** @throws InputError in one line with every kept error */
  throwIfAny(): void {
    if (this.#messages.length > 0) throw new InputError(this.#messages.join('; '))
  }
}

/** @throws InputError when the product has a setting of this name itself, too */
function readOwnSetting(setting: Setting<unknown>, env: Environment, flag: string | undefined): unknown {
  if (Object.values(SETTINGS).some(({ env }) => env === setting.env)) {
    throw new InputError(
      `the pipeline declares the setting ${setting.env}, which ipid has already: choose another name`,
    )
  }
  return readSetting(setting, env, flag)
}

function readSetting(setting: Setting<unknown>, env: Environment, flag: string | undefined): unknown {
  const value = flag ?? variableOrFile(setting, env) ?? setting.default
  if (value === undefined) return undefined
  return named(setting, value, flag !== undefined, () => setting.read(value))
}

function named<T>(setting: Setting<unknown>, value: string, isFlag: boolean, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    const what = setting.isSecret ? '' : ` ${shown(value)}`
    throw new InputError(`${isFlag ? flagOf(setting) : setting.env}${what}: ${error.message}`)
  }
}

/**
 * Reads `--roles`: names separated by commas. Returns them in the order of `ROLES`, each once.
 * @throws InputError when one is unknown
 */
export function readRoles(value: string): Role[] {
  const names = value.split(',').map((name) => name.trim())
  for (const name of names) {
    if (!ROLES.some((role) => role === name)) {
      throw new InputError(`--roles ${JSON.stringify(value)}: must be one or more of ${ROLES.join(', ')}`)
    }
  }
  return ROLES.filter((role) => names.includes(role))
}
