import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { shellWord } from '../../../run/shell-word.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printLine, printLines } from '../../../terminal/print.ts'
import { installService, type ServiceFlags, serviceFacts, thisHost, uninstallService, unitFileOf } from '../service.ts'
import { systemdUnit } from '../unit.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '')

interface InstallFlags extends ServiceFlags {
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
    .option('--user <name>', 'user that it runs as; made if missing (default: as installed, or the name)')
    .option('--data <dir>', 'its DATA_DIR (default: as installed, or /var/lib/NAME)')
    .option('--settings-file <path>', 'file of its settings (default: as installed, or /etc/NAME/NAME.env)')
    .option('--print', 'print the unit, and change nothing')
    .option('--json', 'print JSON')
    .action(async (flags: InstallFlags) => {
      const host = thisHost()
      const program = { node: process.execPath, root: ROOT, path: searchPath(context.env.PATH ?? '') }
      const facts = await serviceFacts(flags, program, host)
      if (flags.print || !host.hasSystemd) {
        const shown = { unit: unitFileOf(host, facts.name), text: systemdUnit(facts), installed: false }
        if (flags.json) return printJson(context.stdout, shown)
        printLines(context.stdout, shown.text)
        if (!flags.print)
          printLine(
            context.stderr,
            'ipid: systemd does not manage this machine, so nothing was changed; above is the unit',
          )
        return
      }
      const done = await installService(facts, host)
      if (flags.json) return printJson(context.stdout, { ...done, ...facts, installed: true })
      const { name, user, dataDir, environmentFile, root } = facts
      const { running } = done
      const command = `sudo -u ${user} env DATA_DIR=${shellWord(dataDir)} ${shellWord(join(root, 'ipid'))}`
      const lines = [
        `${name}.service ${running ? 'runs' : 'still starts (its log says how far it is)'}, and starts with the machine: ${done.unit}`,
        ...(running?.url === undefined ? [] : [`API: ${running.url}`]),
        ...(running?.dashboard === undefined
          ? []
          : [`dashboard: ${running.dashboard}; ${command} dashboard prints a link that signs you in`]),
        ...(done.firstKeyFile === undefined
          ? []
          : [`first key, of the tenant demo: sudo cat ${shellWord(done.firstKeyFile)}`]),
        ...(done.createdUser === undefined ? [] : [`user: ${user}, which was made`]),
        `data: ${dataDir}`,
        `settings: ${environmentFile}; then systemctl restart ${name}`,
        `log: journalctl -u ${name} -f`,
        `commands: ${command} status`,
      ]
      for (const line of lines) printLine(context.stdout, line)
    })
  service
    .command('uninstall')
    .description('stop the service and remove it; its data, settings and user stay')
    .option('--name <name>', 'name of the service', 'ipid')
    .option('--json', 'print JSON')
    .action(async ({ name, json }: { readonly name: string; readonly json?: boolean }) => {
      const done = await uninstallService(name, thisHost())
      if (json) return printJson(context.stdout, done)
      const { dataDir, environmentFile, user } = done.left
      printLine(context.stdout, `${done.unit} is removed. Left: ${dataDir}, ${environmentFile} and the user ${user}`)
    })
  return service
}

/** Where the service finds programs: the folders of the machine, and that of this Node.js. Not those of the person's own. */
function searchPath(own: string): string {
  const common = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']
  const machine = own.split(':').filter((folder) => /^\/(?:usr|opt|snap)\//.test(folder))
  return [...new Set([dirname(process.execPath), ...machine, ...common])].join(':')
}
