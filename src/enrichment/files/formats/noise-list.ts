import { basename } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import { isGeofeed } from '../../providers/lists/geofeed.ts'
import { noiseListProvider } from '../../providers/lists/provider.ts'
import { readList } from '../../providers/lists/read-list.ts'
import { type DataFormat, textOf } from './format.ts'

/** A list of noise: plain networks, a list that an operator publishes, `route:` lines, or a geofeed. */
export const noiseList: DataFormat = {
  name: 'noise list',
  // Cloudflare's lists have no ending: `ips-v4`.
  ending: /(?:\.(?:txt|json|csv)(?:\.gz)?|(?<=^ips-v[46]))$/i,
  recognises: (line, file) => !/\.csv(?:\.gz)?$/i.test(file) || isGeofeed(line),
  async load({ path, name, limits }) {
    const text = await textOf(path, limits)
    if (text.length > limits.listBytesMax) throw new InputError(`a list of more than ${limits.listBytesMax} bytes`)
    return await noiseListProvider(name, await readList(basename(path), text, limits.tableRowsMax))
  },
}
