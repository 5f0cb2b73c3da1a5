import { fetchClickHouse } from '../../test/support/fetch-clickhouse.ts'
import type { Bound, Stage } from '../run/scenario.ts'

/** Rows of a block, as in the sink. */
const BLOCK_ROWS = 100_000

interface RowsBound {
  readonly bound: Bound
  /** Size of a row in RowBinary. */
  readonly rowBytes: number
}

/**
 * ClickHouse alone: inserts a prepared block of this run's rows repeatedly, with the same engine and table.
 * @param figure name of the product's figure, in rows per second
 */
export async function rowsBound(stage: Stage, figure: string, seconds: number): Promise<RowsBound> {
  const { product } = stage
  const post = async (sql: string, body?: Uint8Array) => {
    const settings = { database: 'ipid', async_insert: '0', insert_deduplicate: '0' }
    const params = body === undefined ? settings : { ...settings, query: sql }
    const answer = await fetchClickHouse(product.clickhouseUrl, params, { body: body ?? sql })
    if (!answer.ok) throw new Error(await answer.text())
    return new Uint8Array(await answer.arrayBuffer())
  }
  // In random order, because the order of the table would be cheaper to insert.
  const taken = `SELECT * FROM events WHERE event_id LIKE '${stage.tag}-%' ORDER BY cityHash64(event_id) LIMIT ${BLOCK_ROWS}`
  const rows = Number(await product.query(`SELECT count() FROM (${taken})`))
  const block = await post(`${taken} FORMAT RowBinary`)
  await post('CREATE TABLE bench_rows AS events')
  try {
    await post('INSERT INTO bench_rows FORMAT RowBinary', block)
    const beganMs = performance.now()
    let inserted = 0
    let tookMs = 0
    while (tookMs < seconds * 1_000) {
      await post('INSERT INTO bench_rows FORMAT RowBinary', block)
      inserted += rows
      tookMs = performance.now() - beganMs
    }
    const value = (inserted * 1_000) / tookMs
    return { bound: { name: 'ClickHouse alone', figure, value }, rowBytes: block.length / rows }
  } finally {
    await post('DROP TABLE bench_rows')
  }
}
