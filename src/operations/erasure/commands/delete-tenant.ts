import { createInterface } from 'node:readline'
import { Command } from 'commander'
import type { DeletionReceipt } from '../../../../schemas/erasure.ts'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { waitOption } from '../../../terminal/integer-option.ts'
import { printJson, printLine, printPairs, printPart } from '../../../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../../terminal/settings-options.ts'
import { filesText } from './files-text.ts'

interface DeleteFlags {
  readonly yes?: boolean
  readonly wait: number
  readonly json?: boolean
}

/** `ipid tenant delete NAME`: removes the tenant and all its data, while everything runs. */
export function deleteTenantCommand(context: CliContext): Command {
  const command = new Command('delete')
    .description('remove a tenant, its keys and all its data; cannot be undone')
    .argument('<name>', 'the tenant')
    .option('--yes', 'do not ask')
    .addOption(waitOption('how long each wait may take: for the pipeline, for merges, for Redis'))
    .option('--json', 'print JSON')
  return addSettings(command, [...INSTANCE_SETTINGS, 'archiveUrl']).action(
    async (name: string, { yes, wait, json }: DeleteFlags) => {
      const config = configOf(context, command)
      const [{ withErasable }, { deleteTenant }, { systemClock }] = await Promise.all([
        import('./erasable.ts'),
        import('../delete-tenant.ts'),
        import('../../../run/clock.ts'),
      ])
      const receipt = await withErasable(config, context, async ({ admin, alone, ...stores }) => {
        await admin.getTenant(name)
        if (yes !== true) await confirmName(context, name)
        const onStep = (what: string) => printLine(context.stderr, what)
        const parts = { ...stores, clock: systemClock, onStep, waitMs: wait * 1_000 }
        return await alone(() => deleteTenant(name, parts))
      })
      if (json === true) printJson(context.stdout, receipt)
      else print(context, receipt)
    },
  )
}

/** @throws InputError unless the user types the name again */
async function confirmName({ stdin, stderr }: CliContext, name: string): Promise<void> {
  printPart(stderr, `This removes tenant ${name}, its keys, and all its data. Type its name to continue: `)
  const lines = createInterface({ input: stdin })
  try {
    for await (const line of lines) {
      if (line.trim() === name) return
      break
    }
  } finally {
    lines.close()
  }
  throw new InputError('nothing was deleted: the name does not match; --yes skips the question')
}

function print({ stdout }: CliContext, receipt: DeletionReceipt): void {
  const { clickhouse, archive, redis } = receipt
  printPairs(stdout, [
    ['receipt', receipt.receipt],
    ['tenant', receipt.tenant_id],
    ['begun', receipt.begun_at],
    ['finished', receipt.finished_at],
    ['keys', redis.keys],
    ['rows of events', clickhouse.rows],
    ['rows of outcomes', clickhouse.outcomes],
    ['rows of corrections', clickhouse.corrections],
    ...(clickhouse.detached_parts === 0
      ? []
      : ([['detached parts', `${clickhouse.detached_parts}, not searched`]] as const)),
    ['objects of the archive', `${archive.objects} in ${archive.place}`],
    ['dead letters', redis.dead_letters],
    ['events in the dedup window', redis.dedup],
    ['batch jobs', redis.batch_jobs],
    ['bulk lookup jobs', redis.bulk_jobs],
    ["Redis' files", filesText(redis.files)],
  ])
}
