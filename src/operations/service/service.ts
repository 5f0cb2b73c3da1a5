import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, lstat, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { InputError, StartupError } from '../../run/errors.ts'
import { environmentExample, type ServiceFacts, stateDirOf, systemdUnit } from './unit.ts'

/** The machine that a service is installed on. */
export interface ServiceHost {
  /** Whether systemd manages this machine (man sd_booted). */
  readonly hasSystemd: boolean
  readonly isRoot: boolean
  /** The folder that stands for /. */
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

/** What an installation did. */
export interface Installed {
  readonly unit: string
  /** Absent: it was there, and was not touched. */
  readonly createdUser?: string
  readonly createdSettings?: string
}

/** The first words of a unit that `install` wrote. */
const OURS = '# Written by "ipid service install"'

const unitFileOf = (host: ServiceHost, name: string) => join(host.root, 'etc/systemd/system', `${name}.service`)

/**
 * Installs the service, or installs it anew after an upgrade, and (re)starts it. A second run changes nothing that a person made: settings,
 * user and data stay.
 * @throws InputError that says what is missing; nothing was changed then, but a user may have been made
 */
export async function installService(facts: ServiceFacts, host: ServiceHost): Promise<Installed> {
  assertMay(host, 'install')
  const { name, user, root, node, dataDir } = facts
  const unit = unitFileOf(host, name)
  await assertOurs(unit)
  const hasUser = await host.run('getent', ['passwd', user]).then(
    () => true,
    () => false,
  )
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
  await mkdir(dirname(unit), { recursive: true })
  await writeFile(`${unit}.new`, systemdUnit(facts), { mode: 0o644 })
  await rename(`${unit}.new`, unit)
  await host.run('systemctl', ['daemon-reload'])
  await host.run('systemctl', ['enable', name])
  await host.run('systemctl', ['restart', name]).catch((error: Error) => {
    throw new StartupError(`${name}.service does not start: ${error.message}; see journalctl -u ${name}`)
  })
  return {
    unit,
    ...(hasUser ? {} : { createdUser: user }),
    ...(hasSettings ? {} : { createdSettings: settings }),
  }
}

/**
 * Stops the service and removes its unit. Data, settings and user stay.
 * @throws InputError when there is no unit, or somebody else wrote it
 */
export async function uninstallService(name: string, host: ServiceHost): Promise<{ readonly unit: string }> {
  assertMay(host, 'uninstall')
  const unit = unitFileOf(host, name)
  if (!existsSync(unit)) throw new InputError(`there is no ${unit}`)
  await assertOurs(unit)
  await host.run('systemctl', ['disable', '--now', name])
  await rm(unit)
  await host.run('systemctl', ['daemon-reload'])
  return { unit }
}

function assertMay({ hasSystemd, isRoot }: ServiceHost, verb: string): void {
  if (!hasSystemd) throw new InputError(`systemd does not manage this machine, so there is nothing to ${verb}`)
  if (!isRoot) throw new InputError(`only root may ${verb} a service: sudo ./ipid service ${verb}`)
}

async function assertOurs(unit: string): Promise<void> {
  const text = await readFile(unit, 'utf8').catch(() => OURS)
  if (!text.startsWith(OURS)) throw new InputError(`${unit} was not written by ipid: remove it, or give another --name`)
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

/** systemd makes its own folder of data. Another one is made here, or must belong to the user already. */
async function prepareData({ name, user, dataDir }: ServiceFacts, host: ServiceHost): Promise<void> {
  if (dataDir === stateDirOf(name)) return
  const folder = join(host.root, dataDir)
  const [uid, gid] = (await Promise.all(['-u', '-g'].map((flag) => host.run('id', [flag, user])))).map(Number)
  const found = await lstat(folder).catch(() => undefined)
  if (found === undefined) {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await chown(folder, uid!, gid!)
  } else if (found.uid !== uid) {
    throw new InputError(
      `${folder} does not belong to ${user}: stop the ipid that uses it, then chown -R ${user}: ${folder}`,
    )
  }
}
