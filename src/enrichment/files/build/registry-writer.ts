import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import { type AddressRange, parseCidr, parseNetwork } from '../../addresses/network.ts'
import { RangeIndex } from '../../addresses/range-index.ts'
import { wordRange } from '../../addresses/word-range.ts'
import type { EnrichmentLimits } from '../../limits.ts'
import { SkippedEntries } from '../../providers/lists/entry.ts'
import { type RangeRecord, rangeFileParts } from '../../providers/ranges/range-file.ts'
import { dateOf, organisationPathsOf, readRegistryFile } from '../../providers/registry/files.ts'
import { REGISTRY_TYPE } from '../../providers/registry/provider.ts'
import type { RpslObject } from '../../providers/registry/rpsl.ts'
import { type BlockUse, useOfBlock } from '../../rules/block-holder.ts'
import { fold, isGenericWord, tokens } from '../../rules/normalise.ts'
import { isNotKnownName } from '../../rules/not-known.ts'
import { isSameHolder } from '../../rules/same-holder.ts'
import { NestedRanges } from './nested-ranges.ts'
import { TextPool } from './text-pool.ts'

/** A registry file, compiled. */
export interface WrittenRegistry {
  /** A range file in parts; undefined when the file has organisations only. */
  readonly parts: readonly Buffer[] | undefined
  /** Number of objects about addresses, or else of organisations. */
  readonly objects: number
  /** The newest change of an object: about when the file was made. Undefined when objects have no dates. */
  readonly builtAt: Date | undefined
  readonly warnings: readonly string[]
}

/** First character of a text in the pool: the kind of a `BlockUse`. */
const KINDS = { holder: 'H', purpose: 'P', network: 'N' } as const

/**
 * Compiles a registry file and the organisations that it refers to. Reads the text as a stream, so that memory depends on
 * the number of blocks and names only (bench/results.md).
 * @throws InputError with the reason; NotDataError when the file has no objects
 */
export async function writeRegistry(path: string, limits: EnrichmentLimits): Promise<WrittenRegistry> {
  const organisations = await readOrganisations(path, limits)
  const blocks = new Blocks(organisations, limits, new SkippedEntries())
  const skipped = await readRegistryFile(path, (object) => blocks.add(object))
  const { builtAt } = blocks
  const missing = await missingOrganisations(path, blocks)
  const warnings = [...skipped.warnings, ...blocks.skipped.warnings, ...missing]
  if (blocks.objects === 0) return { parts: undefined, objects: organisations.size, builtAt, warnings }
  const { objects } = blocks
  organisations.clear()
  return { parts: blocks.takeParts(basename(path)), objects, builtAt, warnings }
}

interface Organisation {
  readonly name: string
  readonly isLir: boolean
}
type Organisations = Map<string, Organisation>

/** The organisations beside a split file, or in a file of all objects, by their keys in upper case. */
export async function readOrganisations(
  path: string,
  { registryOrganisationsMax }: EnrichmentLimits,
): Promise<Organisations> {
  const organisations: Organisations = new Map()
  const isSplit = organisationPathsOf(path).length > 0
  const file = isSplit ? await organisationFileOf(path) : path
  if (file === undefined) return organisations
  await readRegistryFile(file, ({ type, key, orgName, orgType, line }) => {
    if (type !== 'organisation' || orgName === '' || isNotKnownName(orgName)) return
    if (organisations.size === registryOrganisationsMax) {
      throw new InputError(`line ${line}: more than ${registryOrganisationsMax} organisations`)
    }
    organisations.set(copied(key.toUpperCase()), { name: copied(orgName), isLir: orgType.toUpperCase() === 'LIR' })
  })
  return organisations
}

/** V8 keeps the whole text that a string is a part of: here a chunk of the file. */
function copied(text: string): string {
  return Buffer.from(text).toString()
}

async function organisationFileOf(path: string): Promise<string | undefined> {
  for (const candidate of organisationPathsOf(path)) {
    if ((await stat(candidate).catch(() => undefined))?.isFile() === true) return candidate
  }
  return undefined
}

async function missingOrganisations(path: string, { unknownOrganisations }: Blocks): Promise<string[]> {
  const [wanted] = organisationPathsOf(path)
  if (wanted === undefined || unknownOrganisations === 0 || (await organisationFileOf(path)) !== undefined) return []
  return [`${basename(wanted)} is missing: it names the holders of ${unknownOrganisations} blocks`]
}

class Blocks {
  objects = 0
  /** Number of blocks that refer to an organisation that is not known. */
  unknownOrganisations = 0
  readonly skipped: SkippedEntries
  readonly #organisations: Organisations
  readonly #limits: EnrichmentLimits
  readonly #texts = new TextPool()
  #v4 = new NestedRanges(4)
  #v6 = new NestedRanges(6)
  #lastModified = ''

  constructor(organisations: Organisations, limits: EnrichmentLimits, skipped: SkippedEntries) {
    this.#organisations = organisations
    this.#limits = limits
    this.skipped = skipped
  }

  get builtAt(): Date | undefined {
    return dateOf(this.#lastModified)
  }

  add(object: RpslObject): void {
    const { type, key, line, org, netname, descr, status, maintainers, lastModified } = object
    if (lastModified > this.#lastModified) this.#lastModified = lastModified
    if (type === 'organisation') return
    const { registryBlocksMax } = this.#limits
    if (this.objects === registryBlocksMax) throw new InputError(`line ${line}: more than ${registryBlocksMax} blocks`)
    const range = type === 'inetnum' ? inetnum(key) : parseCidr(key)
    if (typeof range === 'string') {
      this.skipped.add(`line ${line}`, range)
      return
    }
    this.objects++
    const organisation = org === '' ? undefined : this.#organisations.get(org.toUpperCase())
    if (org !== '' && organisation === undefined) this.unknownOrganisations++
    const size = sizeOf(range)
    const use = useOfBlock({ netname, descr, status, size, organisation, maintainers })
    const text = textOf(use)
    if (text === undefined) return
    const ranges = range.version === 4 ? this.#v4 : this.#v6
    ranges.add(wordRange(range), this.#texts.add(text))
  }

  /** The range file. Frees the blocks on the way, because they and the file would be in memory together. */
  takeParts(source: string): Buffer[] {
    this.#texts.close()
    const holders = new HolderRules(this.#texts)
    const columnsOf = (nested: NestedRanges) => {
      const pieces = nested.pieces((number, around, outer) => holders.recordOf(number, around, outer))
      return { ...pieces.finish(), ranges: pieces.ranges }
    }
    const v4 = columnsOf(this.#v4)
    this.#v4 = new NestedRanges(4)
    const v6 = columnsOf(this.#v6)
    this.#v6 = new NestedRanges(6)
    const index = RangeIndex.of({
      v4Starts: v4.starts,
      v4Owners: v4.records,
      v6Starts: v6.starts,
      v6Owners: v6.records,
    })
    const head = {
      source,
      databaseType: REGISTRY_TYPE,
      builtAtMs: this.builtAt?.getTime() ?? 0,
      ranges: v4.ranges + v6.ranges,
      members: ['name', 'purpose'],
    }
    return rangeFileParts({ head, index, records: holders.records() })
  }
}

/** `192.0.2.0 - 192.0.2.7`. Old objects have zeros at the front: `192.000.002.000`. */
function inetnum(key: string): AddressRange | string {
  const range = parseNetwork(key.replace(/(?<![\d])0+(?=\d)/g, ''))
  return typeof range !== 'string' && range.version === 'as' ? `"${key}" is not a range of addresses` : range
}

/** As `Block.size`. */
function sizeOf(range: AddressRange): number {
  return range.version === 4 ? range.last - range.first + 1 : Number((range.last - range.first + 1n) >> 68n)
}

/** Undefined for a block without information: its addresses belong to the block around it. */
function textOf(use: BlockUse): string | undefined {
  const text = use.kind === 'purpose' ? use.word : use.name
  if (text === undefined || (use.kind !== 'purpose' && isNotKnownName(text))) return undefined
  return KINDS[use.kind] + text
}

/** Decides between blocks that contain each other, and numbers the records that remain. */
class HolderRules {
  readonly #texts: TextPool
  /** Record of each text plus 1; 0 for none. */
  readonly #records: Uint32Array
  /** Texts of the records. */
  readonly #used: Uint32Array
  #usedCount = 0
  /** Distinctive words of providers, by text. */
  readonly #providerWords = new Map<number, readonly string[]>()

  constructor(texts: TextPool) {
    this.#texts = texts
    this.#records = new Uint32Array(texts.size)
    this.#used = new Uint32Array(texts.size)
  }

  /**
   * A holder keeps its addresses, unless a block around it belongs to the same company: then it is the provider itself. A
   * pool inside a holder's block is the holder's. A provider's block decides nothing.
   * @param outer record of the block around it; -1 for none
   */
  recordOf(number: number, around: readonly number[], outer: number): number {
    const text = this.#texts.at(number)
    if (text.startsWith(KINDS.network)) return outer
    if (text.startsWith(KINDS.purpose)) return outer >= 0 && this.#isHolder(outer) ? outer : this.#number(number)
    return this.#isProviders(text.slice(1), around) ? outer : this.#number(number)
  }

  *records(): Generator<RangeRecord> {
    for (const number of this.#used.subarray(0, this.#usedCount)) {
      const text = this.#texts.at(number)
      yield text.startsWith(KINDS.holder) ? { name: text.slice(1) } : { purpose: text.slice(1) }
    }
  }

  #isHolder(record: number): boolean {
    return this.#texts.at(this.#used[record]!).startsWith(KINDS.holder)
  }

  #number(number: number): number {
    if (this.#records[number] === 0) {
      this.#used[this.#usedCount++] = number
      this.#records[number] = this.#usedCount
    }
    return this.#records[number]! - 1
  }

  #isProviders(name: string, around: readonly number[]): boolean {
    const folded = fold(name)
    return around.some((provider) => {
      const words = this.#wordsOf(provider)
      // The whole comparison takes some microseconds, and there are millions of blocks.
      return words.some((word) => folded.includes(word)) && this.#isSame(name, provider)
    })
  }

  #isSame(name: string, provider: number): boolean {
    return isSameHolder({ orgName: name, asName: this.#texts.at(provider).slice(1) })
  }

  /** Empty for the text of a holder or a purpose. */
  #wordsOf(provider: number): readonly string[] {
    let words = this.#providerWords.get(provider)
    if (words === undefined) {
      const text = this.#texts.at(provider)
      words = text.startsWith(KINDS.network) ? tokens(text.slice(1)).filter((word) => !isGenericWord(word)) : []
      this.#providerWords.set(provider, words)
    }
    return words
  }
}
