import { Reader, type Response } from 'maxmind'
import { InputError } from '../../../run/errors.ts'
import { BoundedCache } from '../../bounded-cache.ts'
import { fieldText } from '../../field-text.ts'
import { TimeSlice } from '../../time-slice.ts'
import { SearchTree } from './tree.ts'
import { verifyMmdb } from './verify.ts'

/** A fully verified MaxMind DB file in memory. */
export interface OpenMmdb {
  readonly databaseType: string
  readonly builtAt: Date | undefined
  /** Number of networks with data. */
  readonly networks: number
  readonly tree: SearchTree
  /** Decodes the data of a record of the tree. Throws when they are damaged. */
  decode(record: number): unknown
  /** Decoded records, spread over the file. */
  readonly samples: readonly unknown[]
}

/** The reader's decoder. `SearchTree` replaces its `get`, which parses text and walks bit by bit. */
interface PointerReader {
  resolveDataPointer(record: number): unknown
}

const METADATA_MARKER = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')
/** Cached values inside records, so that shared ones are decoded once. */
const SHARED_VALUES_MAX = 4_096
const RECORDS_AT_A_TIME = 100

/**
 * Opens a file in MaxMind DB format 2.0 and verifies all of it.
 * @throws InputError with the reason when it is empty, truncated, damaged, or in another format
 */
export async function openMmdb(bytes: Buffer): Promise<OpenMmdb> {
  if (bytes.length === 0) throw new InputError('the file is empty')
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) throw new InputError('the file is compressed: unpack it')
  const marker = bytes.lastIndexOf(METADATA_MARKER)
  if (marker < 0) throw new InputError('the file has no metadata: it is truncated, or not in MaxMind DB format')
  const reader = readerOf(bytes)
  const { metadata } = reader
  const problem = metadataProblem(metadata)
  if (problem !== undefined) throw new InputError(`the metadata is wrong: ${problem}`)
  const { networks, samples } = await verifyMmdb(bytes, metadata, marker)
  const decoder = reader as unknown as PointerReader
  const decode = (record: number): unknown => decoder.resolveDataPointer(record)
  return {
    databaseType: fieldText(metadata.databaseType),
    builtAt: metadata.buildEpoch.getTime() > 0 ? metadata.buildEpoch : undefined,
    networks,
    tree: new SearchTree(bytes, metadata),
    decode,
    samples: await decodeAll(samples, decode),
  }
}

function readerOf(bytes: Buffer): Reader<Response> {
  try {
    return new Reader<Response>(bytes, { cache: new BoundedCache<string | number, object>(SHARED_VALUES_MAX) })
  } catch (error) {
    throw new InputError(`the file cannot be read: ${(error as Error).message}`)
  }
}

async function decodeAll(records: readonly number[], decode: (record: number) => unknown): Promise<unknown[]> {
  const slice = new TimeSlice()
  const decoded: unknown[] = []
  for (const [i, record] of records.entries()) {
    if (i % RECORDS_AT_A_TIME === 0 && slice.isOver) await slice.next()
    try {
      decoded.push(decode(record))
    } catch (error) {
      throw new InputError(`a record cannot be decoded: ${(error as Error).message}`)
    }
  }
  return decoded
}

function metadataProblem(metadata: Reader<Response>['metadata']): string | undefined {
  if (metadata.binaryFormatMajorVersion !== 2) return `format version ${metadata.binaryFormatMajorVersion}`
  if (metadata.ipVersion !== 4 && metadata.ipVersion !== 6) return `IP version ${metadata.ipVersion}`
  if (typeof metadata.databaseType !== 'string') return 'no database type'
  if (!Number.isSafeInteger(metadata.nodeCount) || metadata.nodeCount < 0) return `node count ${metadata.nodeCount}`
  if (Number.isNaN(metadata.buildEpoch.getTime())) return 'no build date'
  return undefined
}
