import { readFileSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Plan } from '../../schemas/plans.ts'
import { type Config, type Role, usesSecret } from '../config/config.ts'
import { SETTINGS, type SettingName, type Settings } from '../config/settings.ts'
import { type DataDir, trustedDataDir } from '../embedded/processes/data-dir.ts'
import { findService } from '../operations/service/find.ts'
import type { PipelineOutline } from '../pipeline/declaration/pipeline.ts'
import { InputError, StartupError } from '../run/errors.ts'
import { writePrivateFile } from '../run/private-file.ts'
import { isHeld } from '../run/socket-lock.mjs'
import { keyIdOfFolder, keyIdOfText, secretsKeyFile } from '../secrets/secret-box.ts'
import type { ClickHousePlace } from '../stores/clickhouse/hosts.ts'

/** How to reach a running instance; stored in DATA_DIR/run/instance.json. */
export interface Instance {
  /** The API; absent when the instance has no ingress. */
  readonly url?: string
  /** ClickHouse for ipid's own processes and commands. */
  readonly clickhouse_url: string
  /** The embedded ClickHouse for people and their tools; absent with another one, and from earlier versions. */
  readonly analyst_url?: string
  readonly redis_url: string
  readonly pid: number
  /** `GET /metrics`; absent from earlier versions. */
  readonly metrics_url?: string
  /** The address of the dashboard for people; absent when the instance has none. */
  readonly dashboard?: string
}

/** Settings that a command takes from the running instance. */
const FOLLOWED = [
  ...(['enrichDir', 'defaultData', 'rdns', 'rdnsServers', 'archiveUrl', 'archivePartAgeMs', 'backupUrl'] as const),
  ...(['retentionDays', 'stallMs', 'partitions', 'webhookPrivate', 'clickhouseHosts', 'apiUrl'] as const),
]

type Followed = Pick<Config, (typeof FOLLOWED)[number]>

/** Settings that the file omits: its own folder, addresses of stores, and secrets. */
const OMITTED_SETTINGS: readonly SettingName[] = [
  ...([
    'dataDir',
    'redisUrl',
    'clickhouseUrl',
    'clickhouseHosts',
    'secretsKey',
    'smtpUrl',
    'oidcClientSecret',
  ] as const),
]

/** The settings of the instance's start, without `OMITTED_SETTINGS`. */
interface Started extends Partial<Settings> {
  /** Names of all settings that a flag or a variable gave. */
  readonly given: readonly SettingName[]
  readonly roles: readonly Role[]
  /** The id of SECRETS_KEY; undefined without one, and from earlier versions. */
  readonly secretsKeyId?: string
}

/** Further contents of the file. */
export interface InstanceFile extends Instance {
  /** Undefined from earlier versions. */
  readonly started?: Started
  /** The settings as they are read. */
  readonly settings?: Partial<Followed>
  readonly plans?: Readonly<Record<string, Plan>>
  /** Undefined from earlier versions. */
  readonly pipeline?: PipelineOutline
}

/** The settings of the process's start, besides its addresses. */
interface StartedWith {
  readonly config: Config
  readonly roles: readonly Role[]
  readonly pipeline: PipelineOutline
}

export function writeInstance(dir: DataDir, instance: Instance, { config, roles, pipeline }: StartedWith): void {
  const settings = Object.fromEntries(FOLLOWED.map((name) => [name, config[name]])) as Partial<Followed>
  const names = (Object.keys(SETTINGS) as SettingName[]).filter((name) => !OMITTED_SETTINGS.includes(name))
  const { enrichDir, given, secretsKey } = config
  const ofKey = secretsKey === undefined ? {} : { secretsKeyId: keyIdOfText(secretsKey) }
  const file: InstanceFile = {
    ...instance,
    settings: { ...settings, ...(enrichDir !== undefined && { enrichDir: resolve(enrichDir) }) },
    started: { ...Object.fromEntries(names.map((name) => [name, config[name]])), given, roles, ...ofKey },
    plans: Object.fromEntries(config.plans),
    pipeline,
  }
  writePrivateFile(dir.instanceFile, `${JSON.stringify(file)}\n`)
}

/** The configuration with the plans and settings of the running instance, except those that the command was given. */
export async function asInstance(config: Config): Promise<Config> {
  const file = await instanceOf(config)
  return file === undefined ? config : followed(config, file)
}

/** The running instance that a command works on; undefined when none runs on its folder, or another Redis is meant. */
export async function instanceOf(config: Config): Promise<InstanceFile | undefined> {
  const file = await runningOn(trustedDataDir(config.dataDir))
  return file === undefined || (config.redisUrl ?? file.redis_url) !== file.redis_url ? undefined : file
}

/** As `asInstance`, of a file that is read already. */
export function followed(config: Config, { settings = {}, plans = {}, started }: InstanceFile): Config {
  const isGiven = (name: SettingName) => config.given.includes(name)
  const taken = Object.entries(settings).filter(([name]) => !isGiven(name as SettingName))
  return {
    ...config,
    ...(Object.fromEntries(taken) as Partial<Followed>),
    plans: isGiven('plansFile') ? config.plans : new Map([...config.plans, ...Object.entries(plans)]),
    sealRefusal: started && sealRefusalOf(config, started),
  }
}

/** Why this command would encrypt secrets that the running instance cannot read; undefined when it has the same key. */
function sealRefusalOf({ secretsKey, dataDir }: Config, { given, roles, secretsKeyId }: Started): string | undefined {
  const own = secretsKey === undefined ? undefined : keyIdOfText(secretsKey)
  if (given.includes('secretsKey')) {
    if (own === undefined)
      return 'the running ipid has a SECRETS_KEY and this command has none, so ipid could not read the secret: give the command the same SECRETS_KEY, or SECRETS_KEY_FILE'
    if (secretsKeyId === undefined || own === secretsKeyId) return undefined
    return `SECRETS_KEY is key ${own}, and that of the running ipid is key ${secretsKeyId}, so ipid could not read the secret: give the command the same SECRETS_KEY`
  }
  if (!usesSecret(roles, 'secretsKey')) {
    if (own !== undefined) return undefined
    return `the ipid that runs here has only ${roles.join(', ')}, which read no secrets: give the command the SECRETS_KEY of the others, or run it beside them`
  }
  if (own === undefined || own === keyIdOfFolder(dataDir)) return undefined
  return `SECRETS_KEY is set, and the running ipid has the key in ${secretsKeyFile(dataDir)}, so ipid could not read the secret: unset SECRETS_KEY for this command`
}

/** The instance that runs on this folder now; undefined when none does, or it is not ready. */
export async function runningOn(dir: DataDir): Promise<InstanceFile | undefined> {
  return (await isHeld(dir.lock)) ? readInstance(dir) : undefined
}

/** The content of the file, whether or not that instance runs. Undefined when there is no file. */
export function readInstance(dir: DataDir): InstanceFile | undefined {
  try {
    return JSON.parse(readFileSync(dir.instanceFile, 'utf8')) as InstanceFile
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw new StartupError(`cannot read ${dir.instanceFile}: ${(error as Error).message}`)
  }
}

export function removeInstance(dir: DataDir): void {
  rmSync(dir.instanceFile, { force: true })
}

/** Redis of the running instance, or of REDIS_URL. @throws StartupError when there is none */
export async function redisUrlOf(config: Config): Promise<string> {
  return config.redisUrl ?? (await runningInstance(config)).redis_url
}

/** ClickHouse of the running instance, or of CLICKHOUSE_URL. @throws StartupError when there is none */
export async function clickhouseUrlOf(config: Config): Promise<string> {
  if (config.clickhouseUrl !== undefined) return config.clickhouseUrl
  const { clickhouse_url: url } = await runningInstance(config)
  if (url === '') throw new StartupError('the running instance has no ClickHouse: set CLICKHOUSE_URL')
  return url
}

/** ClickHouse for people and their tools: as `clickhouseUrlOf`, with the analyst of the embedded one. @throws StartupError when there is none */
export async function analystUrlOf(config: Config): Promise<string> {
  if (config.clickhouseUrl !== undefined) return config.clickhouseUrl
  const { analyst_url: url } = await runningInstance(config)
  return url || (await clickhouseUrlOf(config))
}

/** The same with everything needed to reach its tables, of a cluster too. @throws StartupError when there is none */
export async function clickhousePlaceOf(config: Config): Promise<ClickHousePlace> {
  const url = await clickhouseUrlOf(config)
  const { clickhouseCluster: cluster, clickhouseHosts: hosts } = await asInstance(config)
  return { url, cluster, hosts }
}

/** The API of the running instance. @throws StartupError when there is none */
export async function apiUrlOf(config: Config): Promise<string> {
  const { url } = await runningInstance(config, 'name its API with --url')
  if (url === undefined) throw new StartupError('the running instance has no ingress: name one with --url')
  return url
}

/**
 * The base URL of the API that a command sends to.
 * @param given as `--url` names it; undefined: that of the running instance
 * @throws InputError when it is not a URL; StartupError when no instance is running
 */
export async function apiBaseOf(given: string | undefined, config: Config): Promise<string> {
  if (given === undefined) return await apiUrlOf(config)
  if (/^https?:\/\//.test(given) && URL.canParse(given)) return given
  throw new InputError(`--url "${given}": must start with http:// or https://`)
}

/** The address of the dashboard of the running instance, or DASHBOARD_URL. @throws StartupError when there is none */
export async function dashboardUrlOf(config: Config): Promise<string> {
  if (config.dashboardUrl !== undefined) return config.dashboardUrl
  const { dashboard } = await runningInstance(config)
  if (dashboard === undefined) throw new StartupError('the running instance has no dashboard: set DASHBOARD_URL')
  return dashboard
}

/** @param otherwise the remedy when the instance runs elsewhere */
async function runningInstance(config: Config, otherwise = 'REDIS_URL and CLICKHOUSE_URL'): Promise<Instance> {
  const dir = trustedDataDir(config.dataDir)
  const instance = await runningOn(dir)
  if (instance !== undefined) return instance
  const service = await findService(dir.path)
  if (service !== undefined) {
    const { name } = service
    throw new StartupError(
      `no ipid is running on ${dir.path}, which is of ${name}.service: "systemctl status ${name}" says whether it starts, and "journalctl -u ${name} -n 20" why it does not`,
    )
  }
  throw new StartupError(
    `no ipid is running on ${dir.path}: start one with "npm start", or set DATA_DIR, or ${otherwise}`,
  )
}
