import { mappedReader } from '../mapping.ts'
import { jsonReader, mostObjects } from './json-lines.ts'
import type { LineFormat } from './line-format.ts'

/** Any JSON objects, one a line. A mapping says where their fields are; without one they have the names of an event. */
export const json: LineFormat = {
  name: 'json',
  about: 'JSON objects with the fields of an event, or with --map',
  recognises: (lines) => mostObjects(lines, (record) => 'ip' in record),
  reader({ mapping = {}, trusted }) {
    const read = mappedReader(mapping, { trusted })
    return jsonReader((record) => ({ event: read(record) }))
  },
}
