import { Command } from 'commander'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { momentOf } from '../../../terminal/moment.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../../terminal/settings-options.ts'
import type { DeadLetters, LetterFilter } from '../dead-letters.ts'

interface FilterOptions {
  readonly reason?: string
  readonly tenant?: string
  readonly from?: string
  readonly to?: string
  readonly json?: boolean
}

interface ListOptions extends FilterOptions {
  readonly limit: string
  readonly after?: string
}

interface ChangeOptions extends FilterOptions {
  readonly all?: boolean
}

/** `ipid dead-letter list|show|retry|discard` */
export function deadLetterCommand(context: CliContext, setExitCode: (code: number) => void): Command {
  const command = new Command('dead-letter').description(
    'events that could not be processed: see, retry or discard them',
  )
  const output = () => import('./dead-letter-output.ts')

  filtered(subcommand('list', 'list them, the newest first'))
    .option('--limit <n>', 'at most so many', '50')
    .option('--after <id>', 'go on behind this one')
    .action(async (options: ListOptions, sub: Command) => {
      const limit = Number(options.limit)
      if (!Number.isInteger(limit) || limit < 1)
        throw new InputError(`--limit "${options.limit}": must be a number from 1`)
      const { printLetters } = await output()
      const filter = filterOf(options)
      await withLetters(sub, filter, (letters) => printLetters(letters, filter, { ...options, limit }, context))
    })

  subcommand('show <id>', 'show one, with its event').action(
    async (id: string, options: FilterOptions, sub: Command) => {
      const { printLetter } = await output()
      await withLetters(sub, {}, (letters) => printLetter(letters, id, options.json === true, context))
    },
  )

  for (const [verb, about] of [
    ['retry', 'put them back where they were; they go the normal way from there, and count once'],
    ['discard', 'give them up for good; an event of the same id that comes later is a new one'],
  ] as const) {
    filtered(subcommand(`${verb} [id...]`, about))
      .option('--all', 'all that there are now')
      .action(async (ids: string[], options: ChangeOptions, sub: Command) => {
        const filter = filterOf(options)
        const chosen = [ids.length > 0, options.all === true, Object.keys(filter).length > 0].filter(Boolean).length
        if (chosen !== 1) throw new InputError(`${verb} what? Give ids, or --reason, --tenant, --from, --to, or --all`)
        const { changeLetters, printChanged } = await output()
        const which = ids.length > 0 ? ids : filter
        const changed = await withLetters(sub, filter, (letters) => changeLetters(letters, verb, which))
        setExitCode(printChanged(changed, options.json === true, context))
      })
  }
  return command

  function subcommand(usage: string, about: string): Command {
    return addSettings(command.command(usage).description(about).option('--json', 'print JSON'), INSTANCE_SETTINGS)
  }

  async function withLetters<T>(
    sub: Command,
    filter: LetterFilter,
    use: (letters: DeadLetters) => Promise<T>,
  ): Promise<T> {
    const config = configOf(context, sub)
    const [{ assertKnownTenant }, { tenantAdmin, withRedis }, { redisUrlOf }, { DeadLetters }, ...more] =
      await Promise.all([
        output(),
        import('../../../terminal/stores.ts'),
        import('../../../terminal/instance.ts'),
        import('../dead-letters.ts'),
        import('../../../pipeline/streams/topology.ts'),
        import('../../../../pipelines/ingest.ts'),
      ])
    const [{ partitionsOf }, { ingest }] = more
    return withRedis(await redisUrlOf(config), async (client) => {
      const letters = new DeadLetters(client, ingest, await partitionsOf(client))
      await assertKnownTenant(letters, filter.tenantId, tenantAdmin(client, config))
      return use(letters)
    })
  }
}

function filtered(command: Command): Command {
  return command
    .option('--reason <text>', 'those whose reason contains this')
    .option('--tenant <tenant>', 'those of a tenant')
    .option('--from <time>', 'those that were given up at this time or later')
    .option('--to <time>', 'those that were given up before this time')
}

function filterOf({ reason, tenant, from, to }: FilterOptions): LetterFilter {
  return {
    ...(reason !== undefined && { reason }),
    ...(tenant !== undefined && { tenantId: tenant }),
    ...(from !== undefined && { fromMs: momentOf('--from', from) }),
    ...(to !== undefined && { toMs: momentOf('--to', to) - 1 }),
  }
}
