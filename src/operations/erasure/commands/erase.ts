import { Command } from 'commander'
import { normalAddress } from '../../../../schemas/alert.ts'
import type { AddressErasureReceipt, ErasureReceipt } from '../../../../schemas/erasure.ts'
import { assertEmailAddress } from '../../../alerts/facts.ts'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { waitOption } from '../../../terminal/integer-option.ts'
import { printJson, printLine, printPairs } from '../../../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../../terminal/settings-options.ts'
import { type SelectorFlags, selectorOf, withMasked } from '../selector.ts'
import { filesText } from './files-text.ts'

interface EraseFlags extends SelectorFlags {
  readonly email?: string
  readonly wait: number
  readonly json?: boolean
}

/**
 * `ipid erase TENANT --ip|--account|--event|--source`: removes events from all stores, while everything runs. With `--email`, an address that mails
 * went to.
 */
export function eraseCommand(context: CliContext): Command {
  const command = new Command('erase')
    .argument('<tenant>', 'tenant of the events')
    .option('--ip <address>', 'events of this address, in any spelling')
    .option('--account <id>', 'events of this account')
    .option('--event <id>', 'the event of this id')
    .option('--source <id>', 'events that this source brought, and their counts')
    .option('--email <address>', 'no events: an address that alerts, digests or files were sent to')
    .addOption(waitOption('how long each wait may take: for the pipeline, for merges, for Redis'))
    .option('--json', 'print JSON')
  return addSettings(command, [...INSTANCE_SETTINGS, 'archiveUrl', 'secretsKey']).action(
    async (tenant: string, { wait, json, email, ...flags }: EraseFlags) => {
      const selector = email === undefined ? selectorOf(flags) : emailOf(email, flags)
      const config = configOf(context, command)
      const [{ withErasable }, { eraseEvents, eraseMailAddress }, { systemClock }] = await Promise.all([
        import('./erasable.ts'),
        import('../erase.ts'),
        import('../../../run/clock.ts'),
      ])
      if (typeof selector === 'string') {
        const receipt = await withErasable(config, context, async ({ admin, records, mails }) => {
          await admin.getTenant(tenant)
          const parts = { records, mails, clock: systemClock, waitMs: wait * 1_000 }
          return await eraseMailAddress(tenant, selector, parts)
        })
        if (json === true) printJson(context.stdout, receipt)
        else printAddress(context, receipt)
        return
      }
      const receipt = await withErasable(config, context, async ({ admin, alone, ...stores }) => {
        const { addressKey } = await admin.getTenant(tenant)
        const onStep = (what: string) => printLine(context.stderr, what)
        const parts = { ...stores, clock: systemClock, onStep, waitMs: wait * 1_000 }
        return await alone(() => eraseEvents(tenant, withMasked(selector, addressKey), parts))
      })
      if (json === true) printJson(context.stdout, receipt)
      else print(context, receipt)
    },
  )
}

/** @throws InputError when it is no address, or comes with a selector of events */
function emailOf(email: string, others: SelectorFlags): string {
  if (Object.values(others).some((value) => value !== undefined))
    throw new InputError('--email removes no events: give it alone')
  assertEmailAddress(email.trim())
  return normalAddress(email)
}

function printAddress({ stdout }: CliContext, { redis, ...receipt }: AddressErasureReceipt): void {
  printPairs(stdout, [
    ['receipt', receipt.receipt],
    ['tenant', receipt.tenant_id],
    ['finished', receipt.finished_at],
    ['alerts and subscriptions', redis.alerts],
    ['messages', redis.messages],
    ["Redis' files", filesText(redis.files)],
  ])
}

function print({ stdout }: CliContext, receipt: ErasureReceipt): void {
  const { clickhouse, archive, redis } = receipt
  printPairs(stdout, [
    ['receipt', receipt.receipt],
    ['tenant', receipt.tenant_id],
    ['events of', { ip: 'an address', account: 'an account', event: 'an id', source: 'a source' }[receipt.selector]],
    ['received before', receipt.received_before],
    ['finished', receipt.finished_at],
    ['rows of events', clickhouse.rows],
    ...(clickhouse.detached_parts === 0
      ? []
      : ([['detached parts', `${clickhouse.detached_parts}, not searched`]] as const)),
    ['lines of the archive', archive.lines],
    ['parts of the archive', `${archive.rewritten} rewritten, ${archive.deleted} deleted in ${archive.place}`],
    ['dead letters', redis.dead_letters],
    ['events in the dedup window', redis.dedup],
    ['errors of batch jobs', redis.batch_jobs],
    ['bulk lookup jobs', redis.bulk_jobs],
    ["Redis' files", filesText(redis.files)],
  ])
}
