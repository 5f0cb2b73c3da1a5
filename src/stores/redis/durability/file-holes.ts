import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { APPEND_ONLY_MANIFEST, appendedFiles } from './append-only-file.ts'

/** A range of bytes; `to` is exclusive. */
interface Span {
  readonly from: number
  readonly to: number
}

const WINDOW_BYTES = 1_048_576
const [HASH, DOLLAR, STAR, LINE_FEED] = [0x23, 0x24, 0x2a, 0x0a]
/** Maximum length of a line with a number of arguments or bytes. */
const LINE_MAX_BYTES = 32

/**
 * Removes holes from the files that Redis appends to, and returns the number of their bytes. When the disk is full, Redis 7 truncates a
 * partial write, but keeps its offset if a rewrite created the file, because it did not open that file for appending. The next command
 * then follows a hole of zeros, and Redis refuses to load the rest of the file. This removes only zeros between commands. It leaves a
 * file as it is if anything else is wrong with it, or there is no room for a copy. Call it while Redis does not run. Blocks for about a
 * second per GB.
 * @param dir folder of the append-only file; may be missing
 * @throws errors of the file system
 */
export function removeHoles(dir: string): number {
  const manifest = join(dir, APPEND_ONLY_MANIFEST)
  if (!existsSync(manifest)) return 0
  let bytes = 0
  for (const name of appendedFiles(readFileSync(manifest, 'utf8'))) {
    bytes += removeHolesOf(join(dir, name), dir)
  }
  return bytes
}

function removeHolesOf(path: string, dir: string): number {
  const file = openSync(path, 'r')
  try {
    const { size } = statSync(path)
    const holes = findHoles(file, size)
    if (holes.length === 0) return 0
    const mended = `${path}.mended`
    try {
      copyBetween(file, size, holes, mended)
      renameSync(mended, path)
    } catch (error) {
      rmSync(mended, { force: true })
      throw error
    }
    sync(dir)
    return holes.reduce((sum, { from, to }) => sum + to - from, 0)
  } finally {
    closeSync(file)
  }
}

/** Returns no holes if the file has anything but commands and zeros. */
function findHoles(file: number, size: number): Span[] {
  const bytes = new FileBytes(file)
  const holes: Span[] = []
  let at = 0
  /** Reads a line such as `*3` or `$17`; -1: there is no such line, or it is cut off. */
  const count = (kind: number): number => {
    if (bytes.at(at) !== kind) return -1
    let value = 0
    for (let i = at + 1; i < at + LINE_MAX_BYTES; i++) {
      const byte = bytes.at(i)
      if (byte === LINE_FEED) {
        at = i + 1
        return value
      }
      if (byte >= 0x30 && byte <= 0x39) value = value * 10 + byte - 0x30
    }
    return -1
  }
  while (at < size) {
    const from = at
    const first = bytes.at(at)
    if (first === 0) {
      while (at < size && bytes.at(at) === 0) at++
      holes.push({ from, to: at })
    } else if (first === HASH) {
      while (at < size && bytes.at(at) !== LINE_FEED) at++
      at++
    } else if (first === STAR) {
      let left = count(STAR)
      for (; left > 0; left--) {
        const length = count(DOLLAR)
        if (length < 0) left = -1
        else at += length + 2
      }
      // The last command may be cut off. Redis removes that itself.
      if (left < 0) return isCutOff(bytes, at, size) ? holes : []
    } else {
      return []
    }
  }
  return holes
}

function isCutOff(bytes: FileBytes, at: number, size: number): boolean {
  if (at >= size) return true
  for (let i = at; i < size; i++) if (bytes.at(i) === LINE_FEED || i - at > LINE_MAX_BYTES) return false
  return true
}

/** Reads bytes of a file through a window in memory. */
class FileBytes {
  readonly #file: number
  readonly #window = Buffer.allocUnsafe(WINDOW_BYTES)
  #from = 0
  #bytes = 0

  constructor(file: number) {
    this.#file = file
  }

  /** -1 at the end of the file. */
  at(position: number): number {
    if (position < this.#from || position >= this.#from + this.#bytes) {
      this.#from = position
      this.#bytes = readSync(this.#file, this.#window, 0, WINDOW_BYTES, position)
      if (this.#bytes === 0) return -1
    }
    return this.#window[position - this.#from]!
  }
}

function copyBetween(file: number, size: number, holes: readonly Span[], path: string): void {
  const copy = openSync(path, 'w', 0o600)
  try {
    const buffer = Buffer.allocUnsafe(WINDOW_BYTES)
    let at = 0
    for (const { from, to } of [...holes, { from: size, to: size }]) {
      while (at < from) {
        const read = readSync(file, buffer, 0, Math.min(WINDOW_BYTES, from - at), at)
        for (let written = 0; written < read; ) written += writeSync(copy, buffer, written, read - written)
        at += read
      }
      at = to
    }
    fsyncSync(copy)
  } finally {
    closeSync(copy)
  }
}

function sync(dir: string): void {
  const folder = openSync(dir, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
