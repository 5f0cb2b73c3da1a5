import type { Body } from './body.ts'
import type { Surroundings } from './connections.ts'
import { Code, Exception } from './exception.ts'
import type { ExternalTable } from './external-tables.ts'
import type { Progress } from './progress-watch.ts'
import { STATEMENT_BYTES_MAX, shapeOf } from './statement.ts'

export interface EngineStatement extends Omit<Surroundings, 'defaults'> {
  readonly queryId: string
  /** Comes before `body`, on a line of its own; either may be empty. */
  readonly query: string
  /** The rest of the statement, or the data of an INSERT. */
  readonly body: Pick<Body, 'bytes' | 'file'>
  readonly defaultFormat: string
  /** Of ClickHouse's protocol, which FORMAT Native is to follow; 0: none. */
  readonly protocolRevision: number
  /** Whether nothing of the result is wanted before its end is known. */
  readonly waitsForEnd: boolean
  /** Files that are temporary tables while it runs. */
  readonly tables: readonly ExternalTable[]
  /** Whether it comes from ipid itself, and waits for nobody else. */
  readonly isOwn: boolean
  /** Called now and then before the answer begins, when settings of the request or its session ask for it. */
  readonly onProgress: (progress: Progress) => void
}

/** Limits are for those who read: an insert that is cut off is begun anew, for ever. */
export function defaultsOf(statement: EngineStatement) {
  const { isRead, isSelect, hasFile } = shapeOf(headOf(statement))
  const isHandedOn = isSelect && !hasFile && !statement.waitsForEnd
  return [
    ...(isRead && !statement.isOwn ? [] : ['max_execution_time', 'max_memory_usage']),
    ...(isHandedOn ? ['max_result_bytes'] : []),
  ].map((name) => [name, '0'] as const)
}

const HEAD_BYTES = 65_536

/** Where the statement begins. */
export function headOf({ query, body }: EngineStatement): string {
  return query === '' ? body.bytes.toString('utf8', 0, HEAD_BYTES) : query
}

/**
 * To be called before anything goes through the query: a form may have one of any length.
 * @throws Exception when it is too large
 */
export function assertQuerySize({ query }: Pick<EngineStatement, 'query'>): void {
  if (query.length > STATEMENT_BYTES_MAX) throw tooLong()
}

/**
 * All of it but data in a file.
 * @throws Exception when it is too large
 */
export function textOf({ query, body }: EngineStatement): string {
  if (query.length + body.bytes.length > STATEMENT_BYTES_MAX) throw tooLong()
  return body.bytes.length === 0 ? query : `${query}\n${body.bytes.toString('utf8')}`
}

function tooLong(): Exception {
  const message = `The statement is larger than ${STATEMENT_BYTES_MAX} bytes: put long lists into a table, and data of an INSERT into the body. (QUERY_IS_TOO_LARGE)`
  return new Exception(Code.QueryIsTooLarge, message)
}
