import type { ClickHouseClient } from '@clickhouse/client'
import { Command } from 'commander'
import type { Config } from '../../../config/config.ts'
import { systemClock } from '../../../run/clock.ts'
import { numbered } from '../../../run/counted.ts'
import { connectClickHouse, DATABASE } from '../../../stores/clickhouse/client.ts'
import { unmarkedPageSources } from '../../../tenants/sources/page-sources.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import { asInstance, clickhouseUrlOf } from '../../../terminal/instance.ts'
import { integerOption } from '../../../terminal/integer-option.ts'
import type { Cell } from '../../../terminal/print.ts'
import { addSettings, INSTANCE_SETTINGS } from '../../../terminal/settings-options.ts'
import { tenantAndSourcesOf } from '../../../terminal/tenant-of.ts'
import type { AskParameters, AskRows } from '../ask-rows.ts'
import { ClickHouseTruth, firstDayOf, GENTLE, type TruthSelection } from '../truth.ts'

/** One statement may read all events of the selected days. */
const STATEMENT_MS = 3_600_000

export const NO_TRUTH = (tenant: string) =>
  `no event of tenant ${tenant} has a known domain: send the e-mail address of people who sign up, as "email" in "user_properties"`

/** A command about the truth of a tenant's sign-ups. */
export function truthCommand(name: string, days: number): Command {
  const command = new Command(name)
    .argument('<tenant>')
    .addOption(
      integerOption('days', 'n', 'visits of the last days, today included', { least: 1, most: 3_650, otherwise: days }),
    )
    .option('--json', 'print JSON')
  return addSettings(command, [...INSTANCE_SETTINGS, 'enrichDir', 'defaultData'])
}

/** The tables of a running instance, opened for one command. */
interface Opened {
  readonly truth: ClickHouseTruth
  readonly ask: AskRows
  readonly nowMs: number
  readonly tenant: Tenant
  readonly selection: TruthSelection
  readonly config: Config
}

/** Opens the truth of a tenant for the time of `use`. @throws InputError for an unknown tenant */
export async function withTruth<T>(
  given: Config,
  name: string,
  days: number,
  use: (opened: Opened) => Promise<T>,
): Promise<T> {
  const config = await asInstance(given)
  const { tenant, sources } = await tenantAndSourcesOf(config, name)
  const url = await clickhouseUrlOf(config)
  const client = connectClickHouse(url, { application: 'cli', database: DATABASE, requestTimeoutMs: STATEMENT_MS })
  try {
    const pageSources = unmarkedPageSources(sources)
    const nowMs = systemClock.now()
    const selection = { tenantId: tenant.id, since: firstDayOf(days, nowMs), pageSources }
    return await use({ truth: new ClickHouseTruth(client), ask: askOf(client), nowMs, tenant, selection, config })
  } finally {
    await client.close()
  }
}

function askOf(client: ClickHouseClient): AskRows {
  return async <Row>(query: string, parameters: AskParameters) => {
    const result = await client.query({
      query,
      query_params: parameters,
      format: 'JSONEachRow',
      clickhouse_settings: GENTLE,
    })
    return await result.json<Row>()
  }
}

/** A sentence about the events that came with browser keys; nothing when there are none. */
export function leftOutText(events: number): string {
  if (events === 0) return ''
  return `\n${numbered(events, 'event')} with a work e-mail address ${events === 1 ? 'was' : 'were'} left out: they came with a browser key, which anybody can read and use.`
}

/** `87 %  (81 to 92)`; `-` without a case. */
export function percent(share: number | null, low: number | null, high: number | null): Cell {
  if (share === null || low === null || high === null) return '-'
  const [of, from, to] = [share, low, high].map((value) => Math.round(value * 100))
  return `${of} %  (${from} to ${to})`
}
