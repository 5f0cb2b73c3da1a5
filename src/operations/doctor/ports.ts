import { execFile } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import { SETTINGS } from '../../config/settings.ts'
import { waitForFreePort } from '../../embedded/processes/free-port.ts'
import { InputError, type StartupError } from '../../run/errors.ts'
import { type Finding, findingsOf, type Subject } from './finding.ts'
import { SkippedError } from './run-checks.ts'

/** A port that a start listens on. */
interface Door {
  /** Its setting. */
  readonly name: 'port' | 'clickhousePort' | 'clickhouseTcpPort' | 'dashboardPort' | 'adminPort'
  readonly what: string
  readonly port: number
  readonly host: string
  /** Undefined for a fixed host. */
  readonly hostSetting?: string
  /** Whether a start uses another port when this one is taken. */
  readonly mayMove: boolean
}

/** Before a start: whether its ports are free, and which programs hold the others. */
export async function checkPorts(subject: Subject): Promise<Finding[]> {
  if (subject.isHeld) throw new SkippedError('its own processes listen there')
  const doors = doorsOf(subject).filter(({ port }) => port !== 0)
  const found: Finding[] = []
  // One after the other: a check listens for a moment.
  for (const [i, door] of doors.entries()) {
    const other = doors.slice(0, i).find(({ port }) => port === door.port)
    found.push(...(other === undefined || door.mayMove ? await checkDoor(door) : [shared(other, door)]))
  }
  if (found.length > 0) return found
  const free = doors.map(({ name, port }) => `${SETTINGS[name].env} ${port}`)
  return [findingsOf('ports').fine(free.length === 0 ? 'each start takes free ones' : `${free.join(', ')} are free`)]
}

function doorsOf({ config, roles }: Subject): Door[] {
  const doors: Door[] = []
  const add = (name: Door['name'], what: string, host: string, rest: Pick<Door, 'mayMove' | 'hostSetting'>) => {
    const port = config[name]
    if (port !== undefined) doors.push({ name, what, host, port, ...rest })
  }
  const moves = (name: Door['name']) => !config.given.includes(name)
  if (roles.includes('ingress') && config.portShared === 'off') {
    add('port', 'the API', config.host, { hostSetting: 'HOST', mayMove: false })
  }
  if (roles.includes('sink') && config.clickhouseUrl === undefined) {
    add('clickhousePort', 'the embedded ClickHouse', '127.0.0.1', { mayMove: false })
    add('clickhouseTcpPort', "ClickHouse's own protocol", '127.0.0.1', { mayMove: false })
  }
  if (roles.includes('dashboard')) {
    const rest = { hostSetting: 'DASHBOARD_HOST', mayMove: moves('dashboardPort') }
    add('dashboardPort', 'the dashboard', config.dashboardHost, rest)
  }
  add('adminPort', 'GET /metrics', config.adminHost, { hostSetting: 'ADMIN_HOST', mayMove: moves('adminPort') })
  return doors
}

function shared(other: Door, { name, port }: Door): Finding {
  const [one, two] = [SETTINGS[other.name].env, SETTINGS[name].env]
  const remedy = `set ${two} to another port`
  return findingsOf('ports').problem(`${one} and ${two} are both ${port}`, 'ipid does not start.', remedy)
}

async function checkDoor({ name, what, port, host, hostSetting, mayMove }: Door): Promise<Finding[]> {
  const { problem, risk } = findingsOf('ports')
  const portSetting = SETTINGS[name].env
  try {
    await waitForFreePort({ ...(hostSetting !== undefined && { hostSetting }), host, portSetting, port }, 0)
    return []
  } catch (error) {
    const { message, reason = message, remedy: choose = 'choose another port' } = error as Partial<StartupError> & Error
    if (error instanceof InputError) {
      const remedy = `set ${hostSetting} to an address of this machine, such as 127.0.0.1`
      return [problem(message, 'ipid does not start.', remedy)]
    }
    const other = (await listenerOn(port)) ?? 'another program'
    const seen = reason.replace('another program', other)
    const isTaken = seen.includes(other)
    const remedy = isTaken
      ? `end that program, or set ${portSetting} to another port (0: any free one)`
      : `${choose} with ${portSetting} (0: any free one)`
    if (!mayMove) return [problem(seen, 'ipid does not start.', remedy)]
    return [risk(seen, `The next start takes any free port for ${what}, a new one each time.`, remedy)]
  }
}

const LSOF_MS = 2_000
/** State of a listening socket in /proc/net/tcp. */
const LISTENING = '0A'

/**
 * The program that listens on a TCP port of this machine: `nginx (process 812)`.
 * @returns undefined when this user may not see it
 */
async function listenerOn(port: number): Promise<string | undefined> {
  try {
    return process.platform === 'linux' ? await fromProc(port) : await fromLsof(port)
  } catch {
    return undefined
  }
}

async function fromProc(port: number): Promise<string | undefined> {
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'latin1').catch(() => '')),
  )
  const hex = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = tables.flatMap((table) => table.split('\n').map((line) => line.trim().split(/\s+/)))
  const inodes = lines.flatMap(([, local, , state, , , , , , inode]) =>
    local?.endsWith(hex) && state === LISTENING && inode !== undefined ? [`socket:[${inode}]`] : [],
  )
  for (const pid of inodes.length === 0 ? [] : (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const files = await readdir(`/proc/${pid}/fd`).catch(() => [])
    const links = await Promise.all(files.map((file) => readlink(`/proc/${pid}/fd/${file}`).catch(() => '')))
    if (!links.some((link) => inodes.includes(link))) continue
    // Not its arguments, which may hold a password.
    return `${basename(await readlink(`/proc/${pid}/exe`))} (process ${pid})`
  }
  return undefined
}

async function fromLsof(port: number): Promise<string | undefined> {
  const args = ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc']
  const { stdout } = await promisify(execFile)('lsof', args, { timeout: LSOF_MS })
  const [pid, name] = ['p', 'c'].map((field) =>
    stdout
      .split('\n')
      .find((line) => line.startsWith(field))
      ?.slice(1),
  )
  return pid === undefined ? undefined : `${name} (process ${pid})`
}
