import { Command } from 'commander'
import type { CliContext } from '../terminal/context.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../terminal/settings-options.ts'

/** `ipid sql "SELECT …"` */
export function sqlCommand(context: CliContext): Command {
  const command = new Command('sql')
    .argument('<statement>', 'the statement; a FORMAT of its own is honoured')
    .option('--json', "print ClickHouse's JSON format: meta, data, rows")
  return addSettings(command, INSTANCE_SETTINGS).action(async (statement: string, options: { json?: boolean }) => {
    const config = configOf(context, command)
    const [{ runStatement }, { clickhouseUrlOf }] = await Promise.all([
      import('./run-statement.ts'),
      import('../terminal/instance.ts'),
    ])
    await runStatement(await clickhouseUrlOf(config), statement, options.json === true, context.stdout)
  })
}
