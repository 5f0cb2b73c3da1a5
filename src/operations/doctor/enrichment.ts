import { defaultDataDirOf, enrichCacheOf, sourcesDirOf } from '../../config/config.ts'
import { oldDataIn } from '../../enrichment/files/old-data.ts'
import { readOptional } from '../../enrichment/files/read-folder.ts'
import { reportOf } from '../../enrichment/files/report.ts'
import { numbered } from '../../run/counted.ts'
import { type Finding, findingsOf, type Subject } from './finding.ts'
import { SkippedError } from './run-checks.ts'

/** Enrichment data: whether each file of the user's folder can be read, and how old the data are. */
export async function checkEnrichment({ config, roles }: Subject): Promise<Finding[]> {
  if (roles.every((role) => role === 'sink' || role === 'archive')) throw new SkippedError('no role reads them')
  const { problem, risk, fine } = findingsOf('enrichment-data')
  const dir = sourcesDirOf(config)
  const options = { isOptional: true, compiledDir: enrichCacheOf(config) }
  const reports = (await readOptional(dir, options)).flatMap(({ files }) => files.map((file) => reportOf(file)))
  const found: Finding[] = reports
    .filter(({ state }) => state === 'failed' || state === 'stale')
    .map(({ path, reason }) =>
      problem(
        `${path} cannot be read: ${reason}`,
        'Addresses that only it knows have no organisation.',
        `./ipid db check ${dir}, then replace or remove the file`,
      ),
    )
  const why = 'Networks change hands, so old data name the wrong organisation for some visits.'
  const { warning, advice } = await oldDataIn({ sourcesDir: dir, defaultsDir: defaultDataDirOf(config) }, Date.now())
  if (warning !== undefined) found.push(risk(warning, why, './ipid db update'))
  if (advice !== undefined) {
    const [seen, remedy] = splitAt(advice, ': ')
    found.push(risk(`there are ${seen}`, why, remedy))
  }
  if (found.length > 0) return found
  const own = reports.length === 0 ? 'the starter data' : `${numbered(reports.length, 'file')} in ${dir}`
  return [fine(`${own}, none older than 90 days`)]
}

function splitAt(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark)
  return [text.slice(0, at), text.slice(at + mark.length)]
}
