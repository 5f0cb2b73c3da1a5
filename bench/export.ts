import { createWriteStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { pino } from 'pino'
import { type EmbeddedClickHouse, startEmbeddedClickHouse } from '../src/embedded/clickhouse/start.ts'
import { DATABASE } from '../src/stores/clickhouse/client.ts'
import { migrate } from '../src/stores/clickhouse/migrate.ts'
import { fetchClickHouse } from '../test/support/fetch-clickhouse.ts'
import { residentMb } from './support/processes.ts'

/**
 * Exports `SELECT * FROM events` as CSV and as Parquet over HTTP into files: `GIGABYTES` of CSV (3), in a new folder under `DIR`
 * (default: the temporary folder). The engine reads each file again. The number of rows and a checksum must equal the table's.
 */
const gigabytes = Number(process.env.GIGABYTES ?? 3)
const BATCH_ROWS = 500_000
const SAMPLE_MS = 50

const EVENTS = `SELECT
  concat('192.0.', toString(number % 256), '.', toString(number % 199)) AS ip, concat('tenant-', toString(number % 5)) AS tenant_id,
  concat('event-', toString(number)) AS event_id, toDateTime64('2025-11-01 00:00:00', 3, 'UTC') + number % 1000000 AS received_at,
  received_at AS timestamp, 'page_view' AS event_type, number % 100000 AS session_id, 'web' AS platform,
  concat('{"path":"/products/', toString(cityHash64(number)), '","referrer":"https://example.com/', hex(cityHash64(number + 1)),
    '","title":"An ordinary page with a title of some length"}') AS properties,
  concat('{"plan":"', toString(number % 7), '"}') AS user_properties, '{}' AS extra,
  concat('account-', toString(number % 3000), '.example') AS account_id, account_id AS company_id,
  concat('Business ', toString(number % 3000)) AS business_name, concat(business_name, ' Holdings') AS org_name, '' AS hostname,
  company_id AS domain, 'Software' AS industry, 'Technology' AS industry_category, 'business' AS classification,
  'DE' AS country_code, number % 64000 AS asn, concat('AS ', toString(asn)) AS as_name, 80 AS quality`

const CHECK = 'SELECT count() AS rows, sum(cityHash64(event_id, timestamp, properties)) AS sum'

async function main(server: EmbeddedClickHouse, folder: string): Promise<void> {
  const ask = async (sql: string) => {
    const response = await fetchClickHouse(server.url, { database: DATABASE, max_execution_time: '0' }, { body: sql })
    if (!response.ok) throw new Error(await response.text())
    return response
  }
  await migrate(server.url, pino({ level: 'silent' }))
  const fill = (from: number, rows: number) => ask(`INSERT INTO events ${EVENTS} FROM numbers(${from}, ${rows})`)
  await fill(0, BATCH_ROWS)
  const sample = await (await ask('SELECT * FROM events LIMIT 100000 FORMAT CSV')).arrayBuffer()
  const rows = Math.round((gigabytes * 1e9) / (sample.byteLength / 100_000))
  for (let from = BATCH_ROWS; from < rows; from += BATCH_ROWS) await fill(from, Math.min(BATCH_ROWS, rows - from))
  const table = await (await ask(`${CHECK} FROM events`)).text()
  print('table: rows, sum', table.trim())

  for (const format of ['CSV', 'Parquet']) {
    const path = join(folder, `export.${format.toLowerCase()}`)
    const before = residentMb(server.pid)
    let peak = before
    const timer = setInterval(() => {
      peak = Math.max(peak, residentMb(server.pid))
    }, SAMPLE_MS)
    const startedAt = performance.now()
    const { body } = await ask(`SELECT * FROM events FORMAT ${format}`)
    await pipeline(Readable.fromWeb(body!), createWriteStream(path))
    clearInterval(timer)
    const seconds = (performance.now() - startedAt) / 1_000
    const { size } = await stat(path)
    const columns = await (
      await ask(
        "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = 'events' FORMAT JSONCompactEachRow",
      )
    ).text()
    const structure = columns
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as string[]).join(' '))
      .join(', ')
    const copy = await (await ask(`${CHECK} FROM file('${path}', ${format}, $$${structure}$$)`)).text()
    print(`${format}: rows, sum`, copy.trim())
    print(`${format}: the same`, copy === table)
    print(`${format}: bytes`, size)
    print(`${format}: seconds`, seconds.toFixed(1))
    print(`${format}: resident, MB, before, at its peak`, before.toFixed(0), peak.toFixed(0))
    print(`${format}: growth to size`, `${(((peak - before) * 2 ** 20 * 100) / size).toFixed(1)} %`)
    await rm(path)
  }
}

function print(name: string, ...values: unknown[]): void {
  process.stdout.write(`${name.padEnd(42)} ${values.join(' ')}\n`)
}

const folder = await mkdtemp(join(process.env.DIR ?? tmpdir(), 'ipid-bench-'))
const server = await startEmbeddedClickHouse({
  path: join(folder, 'clickhouse'),
  port: 0,
  log: pino({ level: 'silent' }),
  external: true,
})
try {
  await main(server, folder)
} finally {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
}
