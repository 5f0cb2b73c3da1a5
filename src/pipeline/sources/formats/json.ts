import { mappedReader, pageFilter } from '../mapping.ts'
import { NO_PAGE_VIEW } from './access-line.ts'
import { jsonReader, mostObjects } from './json-lines.ts'
import type { LineFormat } from './line-format.ts'

/** Any JSON objects, one a line. A mapping says where their fields are; without one they have the names of an event. */
export const json: LineFormat = {
  name: 'json',
  about: 'JSON objects with the fields of an event, or with --map',
  recognises: (lines) => mostObjects(lines, (record) => 'ip' in record),
  reader({ mapping = {}, trusted, all }) {
    const read = mappedReader(mapping, { trusted })
    const mayBePage = pageFilter(mapping)
    return jsonReader((record) => {
      const event = read(record)
      return all || mayBePage(record, event.page?.url) ? { event } : NO_PAGE_VIEW
    })
  },
}
