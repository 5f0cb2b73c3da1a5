import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A request to ClickHouse's HTTP interface; POST unless `init` says otherwise.
 * @param url with user and password, which `fetch` refuses in an address
 */
export function fetchClickHouse(
  url: string,
  params: Readonly<Record<string, string>> = {},
  init: RequestInit = {},
): Promise<Response> {
  const { origin, headers } = partsOf(url)
  const target = `${origin}/?${new URLSearchParams(params)}`
  return fetch(target, { method: 'POST', ...init, headers: { ...headers, ...(init.headers as object) } })
}

/** The address without user and password, and the headers that carry them. */
export function partsOf(url: string): { readonly origin: string; readonly headers: Record<string, string> } {
  const { origin, username, password } = new URL(url)
  return { origin, headers: username === '' ? {} : { 'X-ClickHouse-User': username, 'X-ClickHouse-Key': password } }
}

/** Runs a statement in the database `ipid`, and returns its result as text. Fails when ClickHouse answers with an error. */
export async function runSql(url: string, sql: string, params: Readonly<Record<string, string>> = {}): Promise<string> {
  const response = await fetchClickHouse(url, { database: 'ipid', ...params }, { body: sql })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return text
}

/** The address with which an instance writes to its ClickHouse; the ready file has the one for analysts. */
export function tablesUrlOf(dataDir: string): string {
  const file = readFileSync(join(dataDir, 'run', 'instance.json'), 'utf8')
  return (JSON.parse(file) as { clickhouse_url: string }).clickhouse_url
}
