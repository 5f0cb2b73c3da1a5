import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { type ClickHouseError, createClient } from '@clickhouse/client'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { until } from '../support/until.ts'

/* ClickHouse's JavaScript client, as analysts and ipid use it. */

const { url, analystUrl } = await startTestClickHouse()
const USERS = [
  { user: 'ipid itself', url, database: 'ipid', compressed: false },
  { user: 'the analyst', url: analystUrl, database: 'workspace', compressed: true },
]

for (const { user, compressed, ...server } of USERS) {
  test(`all functions of the JavaScript client work for ${user}`, async (t) => {
    const name = 'client'
    const compression = { request: compressed, response: compressed }
    const client = createClient({ ...server, compression, log: { level: 127 } })
    t.after(() => client.close())
    await client.command({ query: `CREATE TABLE ${name} (a UInt32, s String) ENGINE = MergeTree ORDER BY tuple()` })
    assert.deepEqual((await client.ping()).success, true)
    assert.deepEqual((await client.ping({ select: true })).success, true)

    const objects = await client.insert({
      table: name,
      values: [
        { a: 1, s: 'zoë\n' },
        { a: 2, s: '' },
      ],
      format: 'JSONEachRow',
    })
    assert.equal(objects.summary?.written_rows, '2')
    const halves = [Buffer.from([51, 9, 0xc3]), Buffer.from([0xa4, 10])]
    await client.insert({
      table: name,
      columns: ['a', 's'],
      values: Readable.from(halves, { objectMode: false }),
      format: 'TabSeparated',
    })
    await client
      .exec({ query: `INSERT INTO ${name} FORMAT CSV`, values: Readable.from(['4,x\n']) })
      .then(({ stream }) => stream.resume())
    await client.insert({ table: name, values: Readable.from([]), format: 'JSONEachRow' })

    const result = await client.query({
      query: `SELECT * FROM ${name} WHERE a IN {as:Array(UInt32)} AND s != {s:String} ORDER BY a`,
      query_params: { as: [1, 2, 3, 4], s: "it's\t\\" },
      format: 'JSONEachRow',
    })
    assert.deepEqual(await result.json(), [
      { a: 1, s: 'zoë\n' },
      { a: 2, s: '' },
      { a: 3, s: 'ä' },
      { a: 4, s: 'x' },
    ])

    const large = await client.query({ query: 'SELECT number FROM numbers(300000)', format: 'JSONCompactEachRow' })
    let rows = 0
    for await (const some of large.stream()) rows += some.length
    assert.equal(rows, 300_000)

    const named = await client.command({ query: `TRUNCATE TABLE ${name}`, query_id: `id-${compressed}` })
    assert.equal(named.query_id, `id-${compressed}`)
    await assert.rejects(client.query({ query: 'SELECT nothing' }), (error: ClickHouseError) => {
      assert.deepEqual([error.code, error.type], ['47', 'UNKNOWN_IDENTIFIER'])
      return true
    })
    const broken = () => {
      const query = 'SELECT throwIf(number = 900000) AS x FROM numbers(1000000)'
      const read = client.query({ query, format: 'JSONEachRow' }).then((result) => result.json())
      return read.then(
        () => undefined,
        (error: ClickHouseError) => error,
      )
    }
    // The client cannot read an error that is split over two of its reads.
    const isWhole = (error: Error | undefined) => !error?.message.startsWith('there was an error in the stream')
    assert.equal((await until(broken, isWhole))?.code, '395')
  })
}

test('the JavaScript client handles long statements, and a session keeps its tables', async (t) => {
  const settings = { send_progress_in_http_headers: 1, http_headers_progress_interval_ms: '100' } as const
  const client = createClient({ url: analystUrl, session_id: 'kept', request_timeout: 3_000, log: { level: 127 } })
  t.after(() => client.close())
  const slow = 'SELECT sleepEachRow(0.4) AS a FROM numbers(10) SETTINGS max_block_size = 1'
  await client.command({ query: `CREATE TEMPORARY TABLE slept AS ${slow}`, clickhouse_settings: settings })
  await client.command({ query: `INSERT INTO slept ${slow}`, clickhouse_settings: settings })
  const counts = { query: 'SELECT count() AS n FROM slept', format: 'JSONEachRow' } as const
  for (let time = 0; time < 2; time++) assert.deepEqual(await (await client.query(counts)).json(), [{ n: 20 }])
})
