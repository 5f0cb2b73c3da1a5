import { Command } from 'commander'
import type { EventFate } from '../../../../schemas/api/receipt.ts'
import { InputError, StartupError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { momentOf } from '../../../terminal/moment.ts'
import { printJson, printLine, printPairs } from '../../../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../../terminal/settings-options.ts'
import type { ReceiptQuery } from '../receipts.ts'

interface EventOptions {
  readonly receivedAt?: string
  readonly json?: boolean
}

const QUERY_MS = 30_000

/** `ipid event TENANT EVENT_ID`: the status and receipts of an event. */
export function eventCommand(context: CliContext): Command {
  const command = new Command('event')
    .argument('<tenant>')
    .argument('<event_id>')
    .option('--received-at <time>', 'approximate time when it was sent: the archive is searched around it')
    .option('--json', 'print JSON')
  return addSettings(command, [...INSTANCE_SETTINGS, 'archiveUrl']).action(
    async (name: string, eventId: string, options: EventOptions) => {
      if (eventId === '') throw new InputError('event_id: must not be empty')
      const aroundMs = options.receivedAt === undefined ? undefined : momentOf('--received-at', options.receivedAt)
      const { whyUnknown } = await import('../unknown.ts')
      const found = await ask(name, { eventId, aroundMs })
      if (!('status' in found.answer)) throw new Error(whyUnknown(found.answer, found.archived))
      if (options.json) printJson(context.stdout, found.answer)
      else printFate(found.answer, context)
    },
  )

  async function ask(name: string, query: Pick<ReceiptQuery, 'eventId' | 'aroundMs'>) {
    const config = configOf(context, command)
    const [stores, instance, clickhouse, { archiveLocationOf }, { receiptsOf }, change, { ingest }, { systemClock }] =
      await Promise.all([
        import('../../../terminal/stores.ts'),
        import('../../../terminal/instance.ts'),
        import('../../../stores/clickhouse/client.ts'),
        import('../../../config/config.ts'),
        import('../role.ts'),
        import('../../../pipeline/streams/topology.ts'),
        import('../../../../pipelines/ingest.ts'),
        import('../../../run/clock.ts'),
      ])
    const url = await instance.clickhouseUrlOf(config)
    return await stores.readingRedis(await instance.redisUrlOf(config), async (redis) => {
      const tenant = await stores.tenantAdmin(redis, config).getTenant(name)
      const partitions = await change.partitionsOf(redis)
      if (partitions === 0) throw new StartupError('nothing was ever received: ipid has not been started yet')
      const options = { application: 'cli', database: clickhouse.DATABASE, requestTimeoutMs: QUERY_MS }
      const client = clickhouse.connectClickHouse(url, options)
      const { receipts, close } = receiptsOf({
        ...{ redis, clickhouse: client, archiveLocation: archiveLocationOf(await instance.asInstance(config)) },
        ...{ pipeline: await change.activeOn(redis, ingest), partitions, clock: systemClock },
      })
      try {
        const { id: tenantId, archive: archived } = tenant
        return { archived, answer: await receipts.find({ ...query, tenantId, archived }) }
      } finally {
        await close()
        await client.close()
      }
    })
  }
}

function printFate({ event_id, status, receipts, incomplete }: EventFate, { stdout }: CliContext): void {
  printPairs(stdout, [
    ['event', event_id],
    ['status', status],
    ...(incomplete === undefined ? [] : [['not searched to the end', incomplete.join(', ')] as const]),
  ])
  for (const receipt of receipts) {
    printLine(stdout, '')
    printPairs(stdout, [
      ['received', receipt.received_at],
      ['status', receipt.status],
      ['received from', broughtBy(receipt)],
      ['classification', receipt.classification],
      ...(receipt.status === 'dead'
        ? [['reason', receipt.reason] as const, ['dead letter', receipt.dead_letter] as const]
        : []),
      ['archived', receipt.archived],
    ])
  }
}

function broughtBy({ lane, request_id: request, job_id: job }: EventFate['receipts'][number]): string | undefined {
  if (job !== undefined) return `batch job ${job}`
  if (request !== undefined) return `request ${request}`
  return lane
}
