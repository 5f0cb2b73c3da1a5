import { Command } from 'commander'
import { InputError } from '../run/errors.ts'
import type { CliContext } from '../terminal/context.ts'
import { printLine } from '../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../terminal/settings-options.ts'

interface SqlOptions {
  readonly json?: boolean
  readonly printUrl?: boolean
  readonly write?: boolean
}

/** `ipid sql "SELECT …"` */
export function sqlCommand(context: CliContext): Command {
  const command = new Command('sql')
    .argument('[statement]', 'the statement; a FORMAT of its own is honoured')
    .option('--print-url', 'print the address of ClickHouse with its user and password instead')
    .option('--write', 'as the user of ipid itself, who may change its tables; without it, as the analyst')
    .option('--json', "print ClickHouse's JSON format: meta, data, rows")
  return addSettings(command, INSTANCE_SETTINGS).action(async (statement: string | undefined, options: SqlOptions) => {
    const config = configOf(context, command)
    if ((statement === undefined) !== (options.printUrl === true)) {
      throw new InputError('give a statement, or --print-url')
    }
    const [{ runStatement }, { analystUrlOf, clickhouseUrlOf }] = await Promise.all([
      import('./run-statement.ts'),
      import('../terminal/instance.ts'),
    ])
    const url = await (options.write === true ? clickhouseUrlOf : analystUrlOf)(config)
    if (statement === undefined) printLine(context.stdout, url)
    else await runStatement(url, statement, options.json === true, context.stdout)
  })
}
