import { pipeline, type Readable, Transform } from 'node:stream'
import { parse } from 'csv-parse'
import ndjson from 'ndjson'
import { InputError } from '../../core/run/errors.ts'

/** Columns that are not text in an event. */
const JSON_COLUMNS = new Set(['properties', 'user_properties'])

/**
 * Turns CSV (RFC 4180) into NDJSON events: the header gives the keys, empty fields are left out, `session_id` is a number,
 * `properties` and `user_properties` are JSON where they can be read as such and text where they cannot.
 */
export function csvToNdjson(source: Readable, decoder?: Transform): Readable {
  const parser = parse({ columns: uniqueHeader, bom: true, skip_empty_lines: true, trim: false })
  const events = new Transform({
    objectMode: true,
    transform(record: Record<string, string>, _encoding, done) {
      done(null, eventOf(record))
    },
  })
  const lines = ndjson.stringify()
  const streams = decoder === undefined ? [source, parser, events, lines] : [source, decoder, parser, events, lines]
  // Whoever reads the lines sees the error of any of them.
  pipeline(streams, (error) => {
    if (error) lines.destroy(error instanceof InputError ? error : new InputError(`the CSV file: ${error.message}`))
  })
  return lines as unknown as Readable
}

function uniqueHeader(names: string[]): string[] {
  const header = names.map((name) => name.trim())
  const repeated = header.find((name, i) => header.indexOf(name) !== i)
  if (repeated !== undefined) throw new InputError(`the CSV header names ${JSON.stringify(repeated)} twice`)
  if (!header.includes('ip')) throw new InputError('the CSV header has no column "ip"')
  return header
}

function eventOf(record: Readonly<Record<string, string>>): Record<string, unknown> {
  const event: Record<string, unknown> = {}
  for (const [name, text] of Object.entries(record)) {
    if (text === '') continue
    if (name === 'session_id' && /^-?\d{1,16}$/.test(text)) event[name] = Number(text)
    else if (JSON_COLUMNS.has(name)) event[name] = jsonOrText(text)
    else event[name] = text
  }
  return event
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
