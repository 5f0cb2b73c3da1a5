import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, chown, lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type DataDir, dataDirAt } from '../../embedded/processes/data-dir.ts'
import { InputError, StartupError } from '../../run/errors.ts'
import { shellWord } from '../../run/shell-word.ts'
import { type InstanceFile, readInstance } from '../../terminal/instance.ts'
import {
  environmentExample,
  factsOfUnit,
  hasMark,
  isOurUnit,
  markOf,
  type ServiceFacts,
  stateDirOf,
  systemdUnit,
} from './unit.ts'

/** The machine that a service is installed on. */
export interface ServiceHost {
  /** Whether systemd manages this machine (man sd_booted). */
  readonly hasSystemd: boolean
  readonly isRoot: boolean
  /** The folder used as /. */
  readonly root: string
  /** Rejects with the last line that the program printed on standard error. */
  run(program: string, args: readonly string[]): Promise<string>
}

/** The machine that this process runs on. */
export function thisHost(): ServiceHost {
  return {
    hasSystemd: existsSync('/run/systemd/system'),
    isRoot: process.getuid?.() === 0,
    root: '/',
    async run(program, args) {
      try {
        return (await promisify(execFile)(program, [...args], { encoding: 'utf8' })).stdout
      } catch (error) {
        const { stderr = '', message } = error as Error & { readonly stderr?: string }
        throw new Error(stderr.trim().split('\n').at(-1) || message)
      }
    },
  }
}

/** The flags of `ipid service install`. */
export interface ServiceFlags {
  readonly name: string
  readonly user?: string | undefined
  readonly data?: string | undefined
  readonly settingsFile?: string | undefined
}

/** The program that a service runs. */
type Program = Pick<ServiceFacts, 'node' | 'root' | 'path'>

const NAME = /^[a-z][a-z0-9-]{0,31}$/
/** Names of users that useradd takes. */
const USER = /^[a-z_][a-z0-9_-]{0,31}$/

/**
 * The facts of a service. Values without a flag stay as in the unit that the installation replaces.
 * @throws InputError when a name or a path cannot be that of a service
 */
export async function serviceFacts(flags: ServiceFlags, program: Program, host: ServiceHost): Promise<ServiceFacts> {
  const { name } = flags
  assertServiceName(name)
  const unit = await readFile(unitFileOf(host, name), 'utf8').catch(() => '')
  const before = isOurUnit(unit) ? factsOfUnit(unit) : {}
  const user = flags.user ?? before.user ?? name
  if (!USER.test(user)) {
    const form = 'must be 1 to 32 lower-case letters, digits, dashes and underscores, and begin with a letter or _'
    throw new InputError(`--user ${JSON.stringify(user)}: ${form}`)
  }
  if (flags.data === '') throw new InputError('--data: give a folder')
  const dataDir = resolve(flags.data ?? before.dataDir ?? stateDirOf(name))
  const environmentFile = resolve(flags.settingsFile ?? before.environmentFile ?? `/etc/${name}/${name}.env`)
  for (const place of [program.root, program.node, dataDir, environmentFile]) {
    // A unit is made of lines.
    if (/\p{Cc}/u.test(place))
      throw new InputError(`${JSON.stringify(place)}: a path of a service has no control characters`)
    // systemd would read the next line as a part of this one, or look for files of a pattern.
    if (place !== dataDir && /[\\*?[]|\s$/.test(place))
      throw new InputError(
        `${JSON.stringify(place)}: a path of a service has no \\, *, ? or [, and no space at its end`,
      )
  }
  return { ...program, name, user, dataDir, environmentFile }
}

function assertServiceName(name: string): void {
  if (NAME.test(name)) return
  const form = 'must be 1 to 32 lower-case letters, digits and dashes, and begin with a letter'
  throw new InputError(`--name ${JSON.stringify(name)}: ${form}`)
}

/** The result of an installation. */
export interface Installed {
  readonly unit: string
  /** Absent: it was there, and was not touched. */
  readonly createdUser?: string
  readonly createdSettings?: string
  /** Absent: it still starts, because it has much to read. */
  readonly running?: Pick<InstanceFile, 'url' | 'dashboard'>
  /** Absent when somebody has removed it, or this start made no key. */
  readonly firstKeyFile?: string
}

const READY_WITHIN_MS = 60_000
const READY_EVERY_MS = 200
/** The level `error` of pino. */
const ERROR_LEVEL = 50

/** The file of a service's unit. */
export const unitFileOf = (host: Pick<ServiceHost, 'root'>, name: string): string =>
  join(host.root, 'etc/systemd/system', `${name}.service`)

/**
 * Installs the service, or installs it anew after an upgrade, (re)starts it, and waits until every role is ready. A second run changes nothing
 * that a person made: settings, user and data stay.
 * @throws InputError that says what is missing; the user and the folder of data may have been made then, and nothing else
 * @throws StartupError with the reason, when the service ends at its start; systemd tries again every second
 */
export async function installService(facts: ServiceFacts, host: ServiceHost): Promise<Installed> {
  assertMay(host, 'install')
  const { name, user, root, node, dataDir } = facts
  const unit = unitFileOf(host, name)
  await assertOurs(unit)
  await assertFree(unit, name, host)
  await assertMounted(unit, facts, host)
  const hasUser = await host.run('getent', ['passwd', user]).then(
    () => true,
    () => false,
  )
  await assertStateDir(facts, hasUser, host)
  if (!hasUser) {
    const home = ['--home-dir', dataDir, '--no-create-home', '--shell', '/usr/sbin/nologin']
    await host.run('useradd', ['--system', '--user-group', ...home, user]).catch((error: Error) => {
      throw new StartupError(`cannot make the user ${user}: ${error.message}`)
    })
  }
  await assertRuns(facts, host)
  await prepareData(facts, host)
  // Otherwise each start would compile the program, because the service cannot write to its folder.
  await host.run(node, [join(root, 'src/ipid.mjs'), 'compile'])
  const settings = join(host.root, facts.environmentFile)
  const hasSettings = existsSync(settings)
  if (!hasSettings) {
    await mkdir(dirname(settings), { recursive: true })
    await writeFile(settings, environmentExample(name), { mode: 0o600, flag: 'wx' })
  }
  await writeFile(join(host.root, markOf(dataDir)), `${name}.service starts only where this file is.\n`)
  await mkdir(dirname(unit), { recursive: true })
  await writeFile(`${unit}.new`, systemdUnit(facts), { mode: 0o644 })
  await rename(`${unit}.new`, unit)
  await host.run('systemctl', ['daemon-reload'])
  await host.run('systemctl', ['enable', name])
  await host.run('systemctl', ['restart', name]).catch((error: Error) => {
    throw new StartupError(`${name}.service does not start: ${error.message}; see journalctl -u ${name}`)
  })
  const dir = dataDirAt(join(host.root, dataDir))
  const running = await whenReady(name, dir, host)
  return {
    unit,
    ...(hasUser ? {} : { createdUser: user }),
    ...(hasSettings ? {} : { createdSettings: settings }),
    ...(running && { running: { url: running.url, dashboard: running.dashboard } }),
    ...(existsSync(dir.firstKeyFile) && { firstKeyFile: dir.firstKeyFile }),
  }
}

/** The instance of a service that was started; undefined when it is not ready in time. */
async function whenReady(name: string, dir: DataDir, host: ServiceHost): Promise<InstanceFile | undefined> {
  for (const endMs = performance.now() + READY_WITHIN_MS; performance.now() < endMs; await sleep(READY_EVERY_MS)) {
    const shown = await host.run('systemctl', ['show', '-p', 'MainPID,NRestarts', name])
    const [, pid, restarts] = /^MainPID=(\d+)\nNRestarts=(\d+)$/m.exec(shown) ?? []
    if (Number(restarts) > 0) {
      const log = await host.run('journalctl', ['-u', name, '-o', 'cat', '-n', '100'])
      throw new StartupError(
        `${name}.service ends at its start, and systemd tries again every second: ${reasonIn(log)}. Mend it, or systemctl stop ${name}; its log: journalctl -u ${name}`,
      )
    }
    const instance = readInstance(dir)
    if (instance?.pid === Number(pid)) return instance
  }
  return undefined
}

/** The message of the last error in a log of JSON lines. */
function reasonIn(log: string): string {
  for (const line of log.trim().split('\n').reverse()) {
    try {
      const { level, msg } = JSON.parse(line) as { readonly level: number; readonly msg: string }
      if (level >= ERROR_LEVEL) return msg
    } catch {
      // Lines of systemd.
      if (line.startsWith('ipid: ')) return line.slice('ipid: '.length)
    }
  }
  return 'its log names no reason'
}

/** The unit that was removed, and what stays of the service. */
export interface Uninstalled {
  readonly unit: string
  readonly left: ReturnType<typeof factsOfUnit>
}

/**
 * Stops the service and removes its unit. Data, settings and user stay.
 * @throws InputError when there is no unit, or somebody else wrote it
 */
export async function uninstallService(name: string, host: ServiceHost): Promise<Uninstalled> {
  assertServiceName(name)
  assertMay(host, 'uninstall')
  const unit = unitFileOf(host, name)
  if (!existsSync(unit)) throw new InputError(`there is no ${unit}`)
  await assertOurs(unit)
  const left = factsOfUnit(await readFile(unit, 'utf8'))
  await host.run('systemctl', ['disable', '--now', name])
  await rm(unit)
  await host.run('systemctl', ['daemon-reload'])
  return { unit, left }
}

function assertMay({ hasSystemd, isRoot }: ServiceHost, verb: string): void {
  if (!hasSystemd) throw new InputError(`systemd does not manage this machine, so there is nothing to ${verb}`)
  if (!isRoot) throw new InputError(`only root may ${verb} a service: sudo ./ipid service ${verb}`)
}

async function assertOurs(unit: string): Promise<void> {
  const text = await readFile(unit, 'utf8').catch(() => undefined)
  if (text !== undefined && !isOurUnit(text))
    throw new InputError(`${unit} was not written by ipid: remove it, or give another --name`)
}

/** A unit in /etc would replace one of the machine's packages. */
async function assertFree(unit: string, name: string, host: ServiceHost): Promise<void> {
  if (existsSync(unit)) return
  const exists = await host.run('systemctl', ['cat', `${name}.service`]).then(
    () => true,
    () => false,
  )
  if (exists) throw new InputError(`the machine has another ${name}.service already: give another --name`)
}

/** Without this check the service would start without its data, as a new one, and look healthy. */
async function assertMounted(unit: string, { name, dataDir }: ServiceFacts, host: ServiceHost): Promise<void> {
  const before = await readFile(unit, 'utf8').catch(() => '')
  if (!hasMark(before) || factsOfUnit(before).dataDir !== dataDir) return
  if (existsSync(join(host.root, markOf(dataDir)))) return
  throw new InputError(
    `the data of ${name}.service are not in ${dataDir}: mount their disk, or bring them back. To begin without them: ipid service uninstall --name ${name}, and install again`,
  )
}

/** systemd gives /var/lib/NAME to the user of the service, even if it belongs to another user. */
async function assertStateDir(facts: ServiceFacts, hasUser: boolean, host: ServiceHost): Promise<void> {
  const { name, user, dataDir } = facts
  const folder = join(host.root, stateDirOf(name))
  if (dataDir !== stateDirOf(name)) return
  const found = await lstat(folder).catch(() => undefined)
  if (found === undefined || (hasUser && found.uid === (await idsOf(user, host)).uid)) return
  if (await isNewDisk(folder, found.uid)) return
  throw new InputError(`${folder} belongs to another user: ${remedyForFolder(folder, user)}, or give another --name`)
}

async function idsOf(user: string, host: ServiceHost): Promise<{ readonly uid: number; readonly gid: number }> {
  const [uid, gid] = (await Promise.all(['-u', '-g'].map((flag) => host.run('id', [flag, user])))).map(Number)
  return { uid: uid!, gid: gid! }
}

/** Only a folder that ipid made is given away with everything in it. */
function remedyForFolder(folder: string, user: string): string {
  const isOfIpid = ['instance.json', 'clickhouse.pid'].some((file) => existsSync(join(folder, 'run', file)))
  if (isOfIpid || existsSync(join(folder, 'clickhouse-passwords.json')))
    return `stop the ipid that uses it, then chown -R ${user}: ${shellWord(folder)}`
  return `give --data a folder that does not exist yet, such as ${join(folder, 'ipid')}`
}

/** A checkout in a home folder is often closed to other users. */
async function assertRuns({ user, node, root }: ServiceFacts, host: ServiceHost): Promise<void> {
  const script = join(root, 'src/ipid.mjs')
  await host.run('runuser', ['-u', user, '--', node, script, '--version']).catch((error: Error) => {
    throw new InputError(
      `the user ${user} cannot run ${node} ${script} (${error.message}): put ipid and Node.js where every user may read them, such as /opt/ipid and /usr/bin/node`,
    )
  })
}

/** Whether a folder is the top of a disk that was mounted for the service. */
async function isNewDisk(folder: string, owner: number): Promise<boolean> {
  return owner === 0 && (await readdir(folder).catch(() => ['not a folder'])).every((file) => file === 'lost+found')
}

/** The folder of data is made here, or must be empty and of root, or belong to the user already. */
async function prepareData({ user, dataDir }: ServiceFacts, host: ServiceHost): Promise<void> {
  const folder = join(host.root, dataDir)
  const { uid, gid } = await idsOf(user, host)
  const found = await lstat(folder).catch(() => undefined)
  if (found === undefined) {
    await makePassable(dirname(folder))
    await mkdir(folder, { mode: 0o700 })
    await chown(folder, uid, gid)
  } else if (found.uid !== uid && (await isNewDisk(folder, found.uid))) {
    await chmod(folder, 0o700)
    await chown(folder, uid, gid)
  } else if (found.uid !== uid) {
    throw new InputError(`${folder} does not belong to ${user}: ${remedyForFolder(folder, user)}`)
  }
  await host.run('runuser', ['-u', user, '--', 'test', '-w', folder]).catch(() => {
    throw new InputError(
      `the user ${user} cannot write to ${folder}: it must be a folder, and every folder above it passable for ${user} (namei -l ${shellWord(folder)})`,
    )
  })
}

/** Makes the folders that are missing, which every user may pass, whatever the umask is. */
async function makePassable(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true })
  if (first === undefined) return
  for (let made = folder; made.length >= first.length; made = dirname(made)) await chmod(made, 0o755)
}
