import type { Product } from '../run/product.ts'
import type { Figures, Scenario, Stage } from '../run/scenario.ts'
import { withTenants } from '../support/tenants.ts'
import { sendEvents, warmUp } from './send-events.ts'

const LOAD = { perRequest: 100, connections: 16 }
const FILL_ROWS = 500_000

/** Compares the same load before and after a change. @param change returns API keys for the second load */
async function compared(stage: Stage, change: () => Promise<readonly string[]>): Promise<Figures> {
  const { product } = stage
  await warmUp(stage, LOAD)
  const few = (await sendEvents(stage, { ...LOAD, tag: `${stage.tag}f` })).figures
  const keys = await change()
  await product.idle()
  await warmUp(stage, { ...LOAD, keys, tag: `${stage.tag}v` })
  const many = (await sendEvents(stage, { ...LOAD, keys })).figures
  const cost = (figures: Figures) =>
    Object.entries(figures)
      .filter(([name]) => name.startsWith('cpu ') && !name.includes('loader'))
      .reduce((sum, [, value]) => sum + value, 0)
  return {
    'few cpu all µs/event': cost(few),
    'many cpu all µs/event': cost(many),
    'many : few': cost(many) / cost(few),
    'few events/s': few['events/s']!,
    'many events/s': many['events/s']!,
    ...Object.fromEntries(Object.entries(many).map(([name, value]) => [`many ${name}`, value])),
  }
}

export const STORED: Scenario = {
  name: 'stored',
  summary: 'cost of an event with few and with many (--stored) events in the tables',
  run: (stage) =>
    compared(stage, async () => {
      await fill(stage)
      return [stage.product.apiKey]
    }),
}

export const TENANTS: Scenario = {
  name: 'tenants',
  summary: 'cost of an event with one and with many (--tenants) sending tenants',
  run: (stage) => compared(stage, () => makeTenants(stage.product, stage.options.tenants)),
}

/** Inserts events of 90 days and 100,000 accounts. */
async function fill({ product, options, say }: Stage): Promise<void> {
  const say10 = Math.max(1, Math.round(options.stored / FILL_ROWS / 10))
  for (let from = 0, round = 0; from < options.stored; from += FILL_ROWS, round++) {
    const rows = Math.min(FILL_ROWS, options.stored - from)
    await product.query(`
      INSERT INTO events (ip, tenant_id, event_id, received_at, timestamp, event_type, account_id, company_id, business_name, quality)
      SELECT concat('17.', toString(number % 200), '.', toString(intDiv(number, 200) % 250), '.7'), 'demo',
        concat('stored-', toString(number)), now64(3) - toIntervalSecond(cityHash64(number) % 7776000) AS received_at, received_at, 'page_view',
        concat('account-', toString(cityHash64(number) % 100000)) AS account_id, account_id, account_id, 60
      FROM numbers(${from}, ${rows}) SETTINGS insert_deduplicate = 0`)
    if (round % say10 === 0) say(`${from + rows} of ${options.stored} events are stored`)
  }
}

function makeTenants(product: Product, count: number): Promise<string[]> {
  return withTenants(product, async (admin) => {
    const keys: string[] = []
    for (let n = 0; n < count; n++) {
      await admin.createTenant(`bench-${n}`, { plan: 'custom' })
      keys.push((await admin.createKey(`bench-${n}`)).key)
    }
    return keys
  })
}
