import { Scanner } from './scanner.ts'

/**
 * A quick search that says whether a statement has to be judged at all. What it passes reaches nothing outside the engine. It works
 * on a text that comes in pieces, so that others get a turn between them.
 */

/** No statement without one of these words reaches anything; a name can be written otherwise only with a backslash. */
const SUSPICIOUS =
  /identifier|param_|file|engine|executable|eval|sqlite|disk|backup|restore|attach|\bai[a-z]|catboost|(?<!\.)settings|\\/i

/** What has to be looked at, whatever comes after this word. */
const FIRST_WORDS = new Set(['SYSTEM', 'CREATE', 'REPLACE', 'ALTER', 'ATTACH', 'DELETE', 'UPDATE'])
const PARALLEL = /\bparallel\b\s*(?:with|\/|-|#)/i

/**
 * Table functions that read or write a file, run a program or ask another server. For most of them the engine asks for a right,
 * but not in a mutation.
 */
export const SOURCES = [
  ...[
    'arrowstream',
    'azureBlobStorage',
    'azureBlobStorageCluster',
    'cluster',
    'clusterAllReplicas',
    'cosn',
    'deltaLake',
  ],
  ...[
    'deltaLakeAzure',
    'deltaLakeAzureCluster',
    'deltaLakeCluster',
    'deltaLakeLocal',
    'deltaLakeS3',
    'deltaLakeS3Cluster',
  ],
  ...['fileCluster', 'filesystem', 'gcs', 'hdfs', 'hdfsCluster', 'hudi', 'hudiCluster', 'iceberg', 'icebergAzure'],
  ...[
    'icebergAzureCluster',
    'icebergCluster',
    'icebergHDFS',
    'icebergHDFSCluster',
    'icebergLocal',
    'icebergLocalCluster',
  ],
  ...['icebergS3', 'icebergS3Cluster', 'jdbc', 'mongodb', 'mysql', 'odbc', 'oss', 'paimon', 'paimonAzure'],
  ...['paimonAzureCluster', 'paimonCluster', 'paimonHDFS', 'paimonHDFSCluster', 'paimonLocal', 'paimonS3'],
  ...[
    'paimonS3Cluster',
    'postgresql',
    'redis',
    'remote',
    'remoteSecure',
    's3',
    's3Cluster',
    'url',
    'urlCluster',
    'ytsaurus',
  ],
].join('|')
const CALLED = new RegExp(`\\b(?:${SOURCES}|input|null|generateRandom)\\b["\`]?\\s*[(/#-]`, 'i')

/** No word that is searched for is longer than this, with the word or symbol after it and one blank between them. */
const WORD_LENGTH_MAX = 64

/** Finds a suspicious word, or a parenthesis after `format`, wherever the text is cut into pieces. */
export class SuspicionSearch {
  #hasFormat = false
  /** The end of the pieces so far: a word may go on in the next. */
  #carried = ''

  /** @returns whether there is one in this piece, or in it and the ones before it */
  finds(piece: string): boolean {
    const text = this.#carried + piece
    const format = text.search(/format/i)
    const isCall = (this.#hasFormat && piece.includes('(')) || (format >= 0 && text.lastIndexOf('(') > format)
    this.#hasFormat ||= format >= 0
    this.#carried = endOf(text)
    return isCall || SUSPICIOUS.test(text) || PARALLEL.test(text) || CALLED.test(text)
  }
}

/** Where the first word of a statement is looked for. */
const HEAD_CHARACTERS_MAX = 65_536

/** The last characters. Any number of blanks may stand between a word and the next, so one is kept of each run. */
function endOf(text: string): string {
  let end = ''
  for (let at = text.length - 1; at >= 0 && end.length < WORD_LENGTH_MAX; at--) {
    const isBlank = /\s/.test(text[at]!)
    if (!isBlank || end[0] !== ' ') end = `${isBlank ? ' ' : text[at]}${end}`
  }
  return end
}

/** Whether the text begins with a word that is always judged, or with too many parentheses to know. */
export function hasFirstWord(text: string): boolean {
  const scanner = new Scanner(text.slice(0, HEAD_CHARACTERS_MAX))
  while (scanner.next() && scanner.is('('));
  if (scanner.kind === 'end') return text.length > HEAD_CHARACTERS_MAX
  return FIRST_WORDS.has(scanner.token.toUpperCase())
}
