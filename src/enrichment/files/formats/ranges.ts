import { loadRangeFile } from '../../providers/ranges/provider.ts'
import { bytesOf, type DataFormat } from './format.ts'

/** A range file, as ipid makes them of its default data sets. */
export const ranges: DataFormat = {
  name: 'ranges',
  ending: /\.ranges$/i,
  async load({ path, name, limits: { mmdbBytesMax, recordsBytesMax }, isDefault }) {
    return await loadRangeFile({ name, bytes: await bytesOf(path, mmdbBytesMax), recordsBytesMax, isDefault })
  },
}
