import { type Owners, type RangeColumns, RangeIndex } from '../../addresses/range-index.ts'
import { doubled } from '../../columns.ts'
import { nextTexts } from '../packed-texts.ts'
import {
  type Column,
  type OpenSealedFile,
  openSealedFile,
  type SealedHead,
  type SealedKind,
  sealedParts,
} from '../sealed-file.ts'

/**
 * A range file holds sorted address ranges and their records as a ready index (`sealed-file.ts`). Its columns are those of
 * `RangeColumns`, the ends of the records, and the records: JSON arrays with the values of the members that the head names, up to the
 * last one that is not null.
 */
export const RANGE_FILE: SealedKind = { magic: 'ipidrng2', name: 'a range file' }

/** The metadata of a range file. */
export interface RangeFileHead extends SealedHead {
  /** The `database_type` of an MMDB with the same records. */
  readonly databaseType: string
  /** Build time of the data, milliseconds since the Unix epoch; 0 when unknown. */
  readonly builtAtMs: number
  /** Number of ranges with a record. */
  readonly ranges: number
  /** Names of a record's members, in the order of its values. */
  readonly members: readonly string[]
  /** `rulesDigest` of the decisions in the records; undefined without them. */
  readonly rules?: string
}

/** A value of a record; null when the record lacks the member. */
export type RangeValue = string | number | boolean | null

/** The record of a range. Undefined members are omitted. */
export type RangeRecord = Readonly<Record<string, RangeValue | undefined>>

interface RangeFileContent {
  readonly head: RangeFileHead
  readonly index: RangeIndex
  /** In the order of their numbers. */
  readonly records: Iterable<RangeRecord>
}

type StoredHead = RangeFileHead & StoredIndex

export function encodeRangeFile(content: RangeFileContent): Buffer {
  return Buffer.concat(rangeFileParts(content))
}

/** A range file in parts, in order: in one buffer, a large file takes its memory twice. */
export function rangeFileParts({ head, index, records }: RangeFileContent): Buffer[] {
  const { ends, texts } = encodeRecords(records, head.members)
  const { stored, columns } = storedIndex(index)
  return sealedParts(RANGE_FILE, { ...head, ...stored }, [...columns, ends, texts])
}

/** The description of an index in the head of a sealed file. */
export interface StoredIndex {
  /** Width of the owners. */
  readonly ownerBits: 16 | 32
}

/** An index as columns of a sealed file. */
export function storedIndex({ columns }: RangeIndex): { stored: StoredIndex; columns: readonly Column[] } {
  const { v4Starts, v4Owners, v6Starts, v6Owners, v6Inner, v6InnerStarts } = columns
  return {
    stored: { ownerBits: v4Owners instanceof Int16Array ? 16 : 32 },
    columns: [v4Starts, v4Owners, v6Starts, v6Owners, v6Inner, v6InnerStarts],
  }
}

/** Reads the columns of `storedIndex`. */
export function nextIndex(file: OpenSealedFile<SealedHead & StoredIndex>): RangeIndex {
  const owners = (): Owners => (file.head.ownerBits === 16 ? file.next(Int16Array) : file.next(Int32Array))
  const columns: RangeColumns = {
    v4Starts: file.next(Uint32Array),
    v4Owners: owners(),
    v6Starts: file.next(Uint32Array),
    v6Owners: owners(),
    v6Inner: file.next(Uint32Array),
    v6InnerStarts: file.next(Uint32Array),
  }
  return new RangeIndex(columns)
}

/** A UTF-16 code unit takes at most 3 bytes in UTF-8. */
const UTF8_BYTES_MAX = 3

const PAGE_BYTES = 1_048_576

/** The texts of the records in pages, and the end of each text. There may be millions. */
function encodeRecords(records: Iterable<RangeRecord>, members: readonly string[]) {
  let ends = new Uint32Array(16_384)
  let count = 0
  const texts: Buffer[] = []
  let page = Buffer.allocUnsafe(PAGE_BYTES)
  let at = 0
  let before = 0
  const closePage = () => {
    texts.push(page.subarray(0, at))
    before += at
    at = 0
  }
  for (const record of records) {
    const values = members.map((member) => record[member] ?? null)
    while (values.at(-1) === null) values.pop()
    const text = JSON.stringify(values)
    const needed = UTF8_BYTES_MAX * text.length
    if (at + needed > page.length) {
      closePage()
      page = Buffer.allocUnsafe(Math.max(PAGE_BYTES, needed))
    }
    at += page.write(text, at)
    if (count === ends.length) ends = doubled(ends)
    ends[count++] = before + at
  }
  closePage()
  return { ends: ends.subarray(0, count), texts }
}

/** A range file in memory. */
export interface OpenRangeFile {
  readonly head: RangeFileHead
  readonly index: RangeIndex
  /** Number of records. */
  readonly records: number
  /** Decodes a record, numbered from 0, into an object like that of an MMDB. */
  decode(record: number): Readonly<Record<string, RangeValue>>
  /** The values of a record, in the order of the members. The last ones that it lacks are left out. */
  values(record: number): readonly RangeValue[]
}

/**
 * Opens a range file and verifies all of it.
 * @param bytes the columns are views of this buffer
 * @throws InputError when it is truncated, damaged, or another kind of file
 */
export function openRangeFile(bytes: Buffer): OpenRangeFile {
  const file = openSealedFile<StoredHead>(RANGE_FILE, bytes)
  const { ownerBits, ...head } = file.head
  const index = nextIndex(file)
  const texts = nextTexts(file)
  const values = (record: number) => JSON.parse(texts.at(record)) as readonly RangeValue[]
  return {
    head,
    index,
    records: texts.ends.length,
    decode(record) {
      const known = values(record)
      const members = known.map((value, i) => [head.members[i]!, value] as const)
      return Object.fromEntries(members.filter(([, value]) => value !== null))
    },
    values,
  }
}
