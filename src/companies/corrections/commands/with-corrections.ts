import type { ClickHouseClient } from '@clickhouse/client'
import type { Command } from 'commander'
import type { TObject } from 'typebox'
import { systemClock } from '../../../run/clock.ts'
import { InputError } from '../../../run/errors.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { configOf } from '../../../terminal/settings-options.ts'
import { tenantOf } from '../../../terminal/tenant-of.ts'
import type { CompanyCorrections } from '../corrections.ts'

/** Runs work on the corrections of a tenant of the running instance. */
export async function withCorrections<T>(
  context: CliContext,
  command: Command,
  name: string,
  use: (corrections: CompanyCorrections, tenantId: string, client: ClickHouseClient, tenant: Tenant) => Promise<T>,
): Promise<T> {
  const config = configOf(context, command)
  const [{ asInstance, clickhouseUrlOf, redisUrlOf }, { withRedis }, { connectClickHouse, DATABASE }] =
    await Promise.all([
      import('../../../terminal/instance.ts'),
      import('../../../terminal/stores.ts'),
      import('../../../stores/clickhouse/client.ts'),
    ])
  const [{ CompanyCorrections }, { correctionsLock }] = await Promise.all([
    import('../corrections.ts'),
    import('../lock.ts'),
  ])
  const instance = await asInstance(config)
  const tenant = await tenantOf(instance, name)
  const url = await clickhouseUrlOf(instance)
  return await withRedis(await redisUrlOf(instance), async (redis) => {
    const client = connectClickHouse(url, { application: 'cli', database: DATABASE })
    try {
      const corrections = new CompanyCorrections(() => client, systemClock, correctionsLock(redis))
      return await use(corrections, tenant.id, client, tenant)
    } finally {
      await client.close()
    }
  })
}

/** @throws InputError that names the first wrong field */
export async function assertValid(schema: TObject, value: unknown): Promise<void> {
  const { compileValidator } = await import('../../../pipeline/event/validator.ts')
  const [problem] = compileValidator(schema)(value)
  if (problem !== undefined) throw new InputError(`${problem.path} ${problem.message}`)
}
