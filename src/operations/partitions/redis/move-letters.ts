import type { Pipeline } from '../../../pipeline/declaration/pipeline.ts'
import { NO_IDENTITY, partitionOf } from '../../../pipeline/event/envelope.ts'
import { FIRST_ID_FIELD } from '../../../pipeline/streams/dead-letter.ts'
import type { RawEntry } from '../../../pipeline/streams/entries.ts'
import { inOrder } from '../../../run/in-order.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { loadScript } from '../../../stores/redis/scripts.ts'
import { carriesEvents } from '../../backup/redis/letter.ts'
import { readLetter, type StoredLetter } from '../../dead-letters/dead-letters.ts'

const PAGE_LETTERS = 100

const copyLetterScript = loadScript(import.meta.url, './copyLetter-1.lua')

export interface LettersMove {
  readonly pipeline: Pipeline
  readonly from: number
  readonly to: number
  /** Called with each letter. May throw, to end it there. */
  readonly onLetter: () => void
}

/** A letter as it is kept, and as it is read. */
interface Letter {
  readonly raw: RawEntry
  readonly read: StoredLetter
}

/** What a killed move, or a killed erasure, has left. */
export async function removeCopies(client: RedisClient, partitions: number): Promise<void> {
  for (let partition = 0; partition < partitions; partition++) await client.del(keys.deadCopy(partition))
}

/**
 * Moves dead letters to the partition that the identity of their event has. A stream takes entries in the order of their ids
 * alone, so the letters of all partitions are taken oldest first, put into a copy each, and deleted behind; in the end the
 * copies take their places. The id of a letter follows from the one before alone, so that one that was put there and not
 * deleted is not put there again. Returns how many have another partition now.
 */
export async function moveLetters(client: RedisClient, move: LettersMove): Promise<number> {
  const { from, to, pipeline, onLetter } = move
  const sources = Array.from({ length: from }, (_, partition) => lettersOf(client, partition))
  let moved = 0
  for await (const letter of inOrder(sources, (a, b) => isBefore(a.read, b.read))) {
    onLetter()
    const { partition } = letter.read
    const home = homeOf(letter.read, pipeline, to)
    await copyLetterScript.run(client, [keys.deadCopy(home)], [idAmong(letter, from), ...fieldsOf(letter)])
    await client.xdel(keys.dead(partition), String(letter.raw[0]))
    if (home !== partition) moved++
  }
  for (let partition = 0; partition < to; partition++) {
    const copy = keys.deadCopy(partition)
    if ((await client.exists(copy)) === 1) await client.rename(copy, keys.dead(partition))
  }
  return moved
}

async function* lettersOf(client: RedisClient, partition: number): AsyncGenerator<Letter, void> {
  for (let from = '-'; ; ) {
    const args = [keys.dead(partition), from, '+', 'COUNT', PAGE_LETTERS]
    const page = (await client.callBuffer('XRANGE', ...args)) as RawEntry[]
    for (const raw of page) yield { raw, read: readLetter(raw, partition) }
    if (page.length < PAGE_LETTERS) return
    from = `(${page.at(-1)![0].toString('latin1')}`
  }
}

function isBefore(a: StoredLetter, b: StoredLetter): boolean {
  return a.atMs !== b.atMs ? a.atMs < b.atMs : numberOf(a) < numberOf(b)
}

/** Repeats of an event meet in its partition. What has no identity, or is for the archive, stays: there it is known by its place. */
function homeOf({ block, stream, partition }: StoredLetter, pipeline: Pipeline, partitions: number): number {
  const identity = block?.identities.toString('latin1') ?? NO_IDENTITY
  if (identity.length !== NO_IDENTITY.length || identity === NO_IDENTITY) return partition
  return carriesEvents(pipeline, stream) ? partitionOf(identity, partitions) : partition
}

/** The time at which it was given up, and a number that no letter of another partition gets for that time. */
function idAmong({ read }: Letter, partitions: number): string {
  return `${read.atMs}-${numberOf(read) * BigInt(partitions) + BigInt(read.partition)}`
}

function numberOf({ id }: StoredLetter): bigint {
  return BigInt(id.slice(id.indexOf('-') + 1))
}

function fieldsOf({ raw: [, fields], read }: Letter): (string | Buffer)[] {
  return read.firstId === read.id ? [...(fields ?? []), FIRST_ID_FIELD, read.id] : [...(fields ?? [])]
}
