import type { Bound, Stage } from '../run/scenario.ts'

/** As the sink inserts them. */
const BLOCK_ROWS = 100_000

export interface RowsBound {
  readonly bound: Bound
  /** Of a row in RowBinary. */
  readonly rowBytes: number
}

/**
 * ClickHouse inserting rows of this run, alone: the same engine, table and rows, in blocks, made before, over and over.
 * @param figure of the product, in rows a second
 */
export async function rowsBound(stage: Stage, figure: string, seconds: number): Promise<RowsBound> {
  const { product } = stage
  const post = async (sql: string, body?: Uint8Array) => {
    const settings = 'database=ipid&async_insert=0&insert_deduplicate=0'
    const url =
      body === undefined
        ? `${product.clickhouseUrl}/?${settings}`
        : `${product.clickhouseUrl}/?${settings}&query=${encodeURIComponent(sql)}`
    const answer = await fetch(url, { method: 'POST', body: body ?? sql })
    if (!answer.ok) throw new Error(await answer.text())
    return new Uint8Array(await answer.arrayBuffer())
  }
  // In the order of their arrival more or less, and not as they lie in the table.
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
