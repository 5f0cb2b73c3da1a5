import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { CsvError, parse } from 'csv-parse'
import { InputError } from '../../../core/run/errors.ts'
import { lineError, partsOf } from './text-file.ts'

/** A record of a CSV file and the line that it ends on. */
export interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
}

/**
 * The records of a CSV file (RFC 4180): quoted cells may hold commas and line feeds; blank lines and lines that start
 * with `#` are passed over; space around cells is dropped. Other work goes on in between.
 * @throws InputError with the line when a record is malformed
 */
export async function* csvRows(text: Buffer, sameColumns: boolean): AsyncGenerator<CsvRow> {
  const parser = Readable.from(pausing(text), { objectMode: false }).pipe(
    parse({
      info: true,
      trim: true,
      comment: '#',
      comment_no_infix: true,
      skip_empty_lines: true,
      relax_column_count: !sameColumns,
    }),
  )
  try {
    for await (const { info, record } of parser) yield { line: info.lines, cells: record }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const line = 'lines' in error && typeof error.lines === 'number' ? error.lines : undefined
    const reason = error.message.replace(/,? (?:at|on) line \d+/, '')
    throw line === undefined ? new InputError(reason) : lineError(line, reason)
  }
}

async function* pausing(text: Buffer): AsyncGenerator<Buffer> {
  for (const part of partsOf(text)) {
    yield part
    await setImmediate()
  }
}
