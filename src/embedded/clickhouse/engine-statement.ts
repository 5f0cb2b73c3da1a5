import type { Body } from './body.ts'
import type { StatementContext } from './connections.ts'
import { Code, Exception } from './exception.ts'
import type { ExternalTable } from './external-tables.ts'
import type { Progress } from './progress-watch.ts'
import { STATEMENT_BYTES_MAX, shapeOf } from './statement.ts'

export interface EngineStatement extends Omit<StatementContext, 'defaults'> {
  readonly queryId: string
  /** The text before `body`, followed by a line break. Either may be empty. */
  readonly query: string
  /** The rest of the statement, or the data of an INSERT. */
  readonly body: Pick<Body, 'bytes' | 'file'>
  readonly defaultFormat: string
  /** Revision of ClickHouse's protocol for FORMAT Native; 0 for none. */
  readonly protocolRevision: number
  /** Whether the response must wait for the complete result. */
  readonly waitsForEnd: boolean
  /** Files that become temporary tables for this statement. */
  readonly tables: readonly ExternalTable[]
  /** Whether the statement is ipid's own and uses the reserved slots. */
  readonly isOwn: boolean
  /** Whether to measure what it reads, as far as it reads alone. */
  readonly isMeasured: boolean
  /** Called repeatedly before the response begins, if settings ask for it. */
  readonly onProgress: (progress: Progress) => void
}

/** Limits apply to reads only: an insert that fails by a limit would be retried forever. */
export function defaultsOf(statement: EngineStatement) {
  const { isRead, isSelect, hasFile } = shapeOf(headOf(statement))
  const isHandedOn = isSelect && !hasFile && !statement.waitsForEnd
  return [
    ...(isRead && !statement.isOwn ? [] : ['max_execution_time', 'max_memory_usage']),
    ...(isHandedOn ? ['max_result_bytes'] : []),
  ].map((name) => [name, '0'] as const)
}

const HEAD_BYTES = 65_536

/** The start of the statement. */
export function headOf({ query, body }: EngineStatement): string {
  return query === '' ? body.bytes.toString('utf8', 0, HEAD_BYTES) : query
}

/**
 * Must be called before anything scans the query, because a form can have one of any length.
 * @throws Exception when the query is too large
 */
export function assertQuerySize({ query }: Pick<EngineStatement, 'query'>): void {
  if (query.length > STATEMENT_BYTES_MAX) throw tooLong()
}

/**
 * The whole statement, without data in a file.
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
