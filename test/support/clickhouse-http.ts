import assert from 'node:assert/strict'

/** Requests to ClickHouse's HTTP interface, as text. */
export interface ClickHouseHttp {
  call(params: Record<string, string>, init?: RequestInit): Promise<Response>
  /** The body of an answer; fails when its status is not 200. */
  text(params: Record<string, string>, body?: string | Buffer): Promise<string>
  /** Makes a table of the database `ipid`. */
  table(name: string, columns?: string): Promise<void>
}

export function clickHouseHttp(url: string): ClickHouseHttp {
  const call = (params: Record<string, string>, init: RequestInit = {}) =>
    fetch(`${url}/?${new URLSearchParams(params)}`, { method: 'POST', ...init })
  const text = async (params: Record<string, string>, body?: string | Buffer) => {
    const response = await call(params, { body: body ?? null })
    const answer = await response.text()
    assert.equal(response.status, 200, answer)
    return answer
  }
  return {
    call,
    text,
    async table(name, columns = 'a UInt32, s String') {
      await text({ database: 'ipid' }, `CREATE TABLE ${name} (${columns}) ENGINE = MergeTree ORDER BY tuple()`)
    },
  }
}

/** Checks that an answer is an exception as ClickHouse tells it. */
export async function refused(response: Response, status: number, code: number, pattern: RegExp): Promise<void> {
  const answer = await response.text()
  assert.equal(response.status, status, answer)
  assert.equal(response.headers.get('x-clickhouse-exception-code'), String(code))
  assert.match(answer, new RegExp(`^Code: ${code}\\. DB::Exception: `))
  assert.match(answer, pattern)
}

/** The header `X-ClickHouse-Summary`. */
export function summaryOf(response: Response): Record<string, string> {
  return JSON.parse(response.headers.get('x-clickhouse-summary') ?? '{}')
}
