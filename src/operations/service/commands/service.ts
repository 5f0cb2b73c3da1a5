import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printLine, printLines } from '../../../terminal/print.ts'
import { installService, thisHost, uninstallService } from '../service.ts'
import { type ServiceFacts, stateDirOf, systemdUnit } from '../unit.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '')
const NAME = /^[a-z0-9-]{1,32}$/
/** Names of users that useradd takes. */
const USER = /^[a-z_][a-z0-9_-]{0,31}$/

interface InstallFlags {
  readonly name: string
  readonly user?: string
  readonly data?: string
  readonly envFile?: string
  readonly print?: boolean
  readonly json?: boolean
}

/** `ipid service install|uninstall` */
export function serviceCommand(context: CliContext): Command {
  const service = new Command('service')
  service
    .command('install')
    .description(
      'install or update a service of systemd, which runs ipid as a user of its own and starts it after every end',
    )
    .option('--name <name>', 'name of the service', 'ipid')
    .option('--user <name>', 'user that it runs as; made if missing (default: the name)')
    .option('--data <dir>', 'its DATA_DIR (default: /var/lib/NAME)')
    .option('--env-file <path>', 'file of its settings (default: /etc/NAME/NAME.env)')
    .option('--print', 'print the unit, and change nothing')
    .option('--json', 'print JSON')
    .action(async (flags: InstallFlags) => {
      const facts = factsOf(flags, context.env.PATH)
      const host = thisHost()
      if (flags.print || !host.hasSystemd) {
        printLines(context.stdout, systemdUnit(facts))
        if (!flags.print)
          printLine(
            context.stderr,
            'ipid: systemd does not manage this machine, so nothing was changed; above is the unit',
          )
        return
      }
      const done = await installService(facts, host)
      if (flags.json) return printJson(context.stdout, { ...done, ...facts })
      const { name, user, dataDir, environmentFile, root } = facts
      const lines = [
        `${name}.service runs, and starts with the machine: ${done.unit}`,
        ...(done.createdUser === undefined ? [] : [`user: ${user}, which was made`]),
        `data: ${dataDir}`,
        `settings: ${environmentFile}; then systemctl restart ${name}`,
        `log: journalctl -u ${name} -f`,
        `commands: sudo -u ${user} env DATA_DIR=${dataDir} ${join(root, 'ipid')} status`,
      ]
      for (const line of lines) printLine(context.stdout, line)
    })
  service
    .command('uninstall')
    .description('stop the service and remove it; its data, settings and user stay')
    .option('--name <name>', 'name of the service', 'ipid')
    .option('--json', 'print JSON')
    .action(async ({ name, json }: { readonly name: string; readonly json?: boolean }) => {
      assertName('--name', name, NAME)
      const done = await uninstallService(name, thisHost())
      if (json) return printJson(context.stdout, done)
      printLine(
        context.stdout,
        `${done.unit} is removed. Left: ${stateDirOf(name)}, /etc/${name} and the user of the service`,
      )
    })
  return service
}

function factsOf(
  { name, user = name, data = stateDirOf(name), envFile = `/etc/${name}/${name}.env` }: InstallFlags,
  path = '',
) {
  assertName('--name', name, NAME)
  assertName('--user', user, USER)
  const [dataDir, environmentFile] = [resolve(data), resolve(envFile)]
  for (const place of [ROOT, process.execPath, dataDir, environmentFile]) {
    // A unit is made of lines.
    if (/\p{Cc}/u.test(place))
      throw new InputError(`${JSON.stringify(place)}: a path of a service has no control characters`)
  }
  const facts: ServiceFacts = {
    ...{ name, user, node: process.execPath, root: ROOT, dataDir, environmentFile },
    path: searchPath(path),
  }
  return facts
}

/** Where the service finds programs: the folders of the machine, and that of this Node.js. Not those of the person's own. */
function searchPath(own: string): string {
  const common = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']
  const machine = own.split(':').filter((folder) => /^\/(?:usr|opt|snap)\//.test(folder))
  return [...new Set([dirname(process.execPath), ...machine, ...common])].join(':')
}

function assertName(flag: string, value: string, form: RegExp): void {
  if (form.test(value)) return
  throw new InputError(`${flag} ${JSON.stringify(value)}: must be 1 to 32 lower-case letters, digits and dashes`)
}
