import { readdir } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { parseSources } from '../../src/enrichment/files/update/sources.ts'
import { type UpdateOptions, type UpdateReport, updateSources } from '../../src/enrichment/files/update/update.ts'
import { asnMmdb, temporaryFolder } from './enrichment-data.ts'
import { FileServer } from './file-server.ts'

export const ASN = asnMmdb({ '81.2.0.0/16': [64_500, 'Example'] })

/** A folder of data, a file server, and updates from it to the folder. */
export async function setUp(t: TestContext) {
  const [dir, server] = [await temporaryFolder(t), await FileServer.start(t)]
  const update = async (sources: object, options: Partial<UpdateOptions> = {}) => {
    const reports: UpdateReport[] = []
    const parsed = parseSources(JSON.stringify(sources))
    for await (const report of updateSources({ dir, sources: parsed, env: {}, nowMs: 1_000, ...options })) {
      reports.push(report)
    }
    return reports
  }
  const only = async (source: object, options?: Partial<UpdateOptions>) => (await update([source], options))[0]!
  /** Files that any user can read. */
  const files = async () => (await readdir(dir)).filter((file) => !file.startsWith('.sources-state')).sort()
  return { dir, server, update, only, files }
}
