import { Scanner } from './scanner.ts'

/**
 * A fast search that decides whether a statement needs a judgement. A statement without a hit cannot reach outside the engine.
 * The text comes in pieces, so that other requests run in between.
 */

/** A statement without these words is harmless. Only a backslash can hide a name. */
const SUSPICIOUS =
  /identifier|param_|file|engine|executable|eval|sqlite|disk|backup|restore|attach|\bai[a-z]|catboost|(?<!\.)settings|\\/i

/** Statements with these first words are always judged. */
const FIRST_WORDS = new Set(['SYSTEM', 'CREATE', 'REPLACE', 'ALTER', 'ATTACH', 'DELETE', 'UPDATE'])
const PARALLEL = /\bparallel\b\s*(?:with|\/|-|#)/i

/**
 * Table functions that access files, programs or other servers. The engine checks a right for most of them, but not in
 * mutations.
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

/** Longest match: a word, one blank, and the word or symbol after it. */
const WORD_LENGTH_MAX = 64

/** Finds a suspicious word, or a parenthesis after `format`, also across the borders of pieces. */
export class SuspicionSearch {
  #hasFormat = false
  /** The end of the previous pieces, because a match may continue in the next. */
  #carried = ''

  /** @returns whether a match ends in this piece */
  finds(piece: string): boolean {
    const text = this.#carried + piece
    const format = text.search(/format/i)
    const isCall = (this.#hasFormat && piece.includes('(')) || (format >= 0 && text.lastIndexOf('(') > format)
    this.#hasFormat ||= format >= 0
    this.#carried = endOf(text)
    return isCall || SUSPICIOUS.test(text) || PARALLEL.test(text) || CALLED.test(text)
  }
}

/** The first word of a statement must be within this length. */
const HEAD_CHARACTERS_MAX = 65_536

/** The last characters, with each run of blanks collapsed to one. */
function endOf(text: string): string {
  let end = ''
  for (let at = text.length - 1; at >= 0 && end.length < WORD_LENGTH_MAX; at--) {
    const isBlank = /\s/.test(text[at]!)
    if (!isBlank || end[0] !== ' ') end = `${isBlank ? ' ' : text[at]}${end}`
  }
  return end
}

/** Whether the text starts with a word that is always judged, or with too many parentheses to tell. */
export function hasFirstWord(text: string): boolean {
  const scanner = new Scanner(text.slice(0, HEAD_CHARACTERS_MAX))
  while (scanner.next() && scanner.is('('));
  if (scanner.kind === 'end') return text.length > HEAD_CHARACTERS_MAX
  return FIRST_WORDS.has(scanner.token.toUpperCase())
}
