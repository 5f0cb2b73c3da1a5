import { Command } from 'commander'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { momentOf } from '../../../terminal/moment.ts'
import { configOf } from '../../../terminal/settings-options.ts'
import { addSubcommand } from '../../../terminal/subcommand.ts'
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
  const command = new Command('dead-letter')
  const output = () => import('./dead-letter-output.ts')

  filtered(addSubcommand(command, 'list', 'list dead letters, newest first'))
    .option('--limit <n>', 'maximum number', '50')
    .option('--after <id>', 'list letters after this one')
    .action(async (options: ListOptions, sub: Command) => {
      const limit = Number(options.limit)
      if (!Number.isInteger(limit) || limit < 1)
        throw new InputError(`--limit "${options.limit}": must be a whole number of at least 1`)
      const { printLetters } = await output()
      const filter = filterOf(options)
      await withLetters(sub, filter, (letters) => printLetters(letters, filter, { ...options, limit }, context))
    })

  addSubcommand(command, 'show <id>', 'show a dead letter and its event').action(
    async (id: string, options: FilterOptions, sub: Command) => {
      const { printLetter } = await output()
      await withLetters(sub, {}, (letters) => printLetter(letters, id, options.json === true, context))
    },
  )

  for (const [verb, about] of [
    ['retry', 'send dead letters through the pipeline again, from the step that failed; each counts once'],
    ['discard', 'delete dead letters for good; a later event with the same id is new'],
  ] as const) {
    filtered(addSubcommand(command, `${verb} [id...]`, about))
      .option('--all', 'all dead letters')
      .action(async (ids: string[], options: ChangeOptions, sub: Command) => {
        const filter = filterOf(options)
        const chosen = [ids.length > 0, options.all === true, Object.keys(filter).length > 0].filter(Boolean).length
        if (chosen !== 1) throw new InputError(`${verb}: give ids, or --all, or --reason, --tenant, --from and --to`)
        const { changeLetters, printChanged } = await output()
        const which = ids.length > 0 ? ids : filter
        const changed = await withLetters(sub, filter, (letters) => changeLetters(letters, verb, which))
        setExitCode(printChanged(changed, options.json === true, context))
      })
  }
  return command

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
    const [{ activeOn, partitionsOf }, { ingest }] = more
    return withRedis(await redisUrlOf(config), async (client) => {
      const letters = new DeadLetters(client, await activeOn(client, ingest), await partitionsOf(client))
      await assertKnownTenant(letters, filter.tenantId, tenantAdmin(client, config))
      return use(letters)
    })
  }
}

function filtered(command: Command): Command {
  return command
    .option('--reason <text>', 'only letters whose reason contains this text')
    .option('--tenant <tenant>', 'only letters of this tenant')
    .option('--from <time>', 'only letters since this time')
    .option('--to <time>', 'only letters before this time')
}

function filterOf({ reason, tenant, from, to }: FilterOptions): LetterFilter {
  return {
    ...(reason !== undefined && { reason }),
    ...(tenant !== undefined && { tenantId: tenant }),
    ...(from !== undefined && { fromMs: momentOf('--from', from) }),
    ...(to !== undefined && { toMs: momentOf('--to', to) - 1 }),
  }
}
