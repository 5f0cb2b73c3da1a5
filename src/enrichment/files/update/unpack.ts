import { createReadStream, createWriteStream } from 'node:fs'
import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { InputError } from '../../../run/errors.ts'
import { isAsRanges } from '../build/as-range-rows.ts'
import { compileAsRanges } from '../build/as-ranges.ts'

const HEAD_BYTES = 512
const TAR_MAGIC_AT = 257

/**
 * Moves a fetched file to its path. Vendors publish MMDBs as `.gz` or inside a `.tar.gz`; these are unpacked. Ranges of
 * autonomous systems of iptoasn.com are compiled to an MMDB. Other files stay as they are.
 * @param nowMs milliseconds since the Unix epoch, for data without a build date
 * @throws InputError with the reason
 */
export async function unpack(fetched: string, path: string, bytesMax: number, nowMs: number): Promise<void> {
  if (!/\.mmdb$/i.test(path)) return await rename(fetched, path)
  let source = fetched
  if (isGzip(await headOf(source))) {
    source = `${fetched}.unpacked`
    await gunzip(fetched, source, bytesMax)
  }
  const head = await headOf(source)
  if (isTar(head)) await takeMmdb(source, path)
  else if (isAsRanges(head))
    await writeFile(path, await compileAsRanges([await readFile(source)], nowMs, basename(path)))
  else await rename(source, path)
}

async function gunzip(from: string, to: string, bytesMax: number): Promise<void> {
  let size = 0
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length
      if (size > bytesMax) done(new InputError(`it is larger than ${bytesMax} bytes`))
      else done(null, chunk)
    },
  })
  try {
    await pipeline(createReadStream(from), createGunzip(), limit, createWriteStream(to, { flags: 'wx' }))
  } catch (error) {
    if (error instanceof InputError) throw error
    throw new InputError(`it cannot be unpacked: ${(error as Error).message}`)
  }
}

/** Extracts the first MMDB in any folder of an archive. */
async function takeMmdb(archive: string, path: string): Promise<void> {
  const entries = extract()
  const reading = pipeline(createReadStream(archive), entries)
  reading.catch(() => {})
  let taken = false
  try {
    for await (const entry of entries) {
      if (!taken && entry.header.type === 'file' && /\.mmdb$/i.test(entry.header.name)) {
        await pipeline(Readable.from(entry), createWriteStream(path, { flags: 'wx' }))
        taken = true
      } else {
        entry.resume()
      }
    }
    await reading
  } catch (error) {
    throw new InputError(`the archive cannot be read: ${(error as Error).message}`)
  }
  if (!taken) throw new InputError('the archive holds no .mmdb file')
}

/** The first bytes of a file. */
export async function headOf(path: string): Promise<Buffer> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b
}

function isTar(head: Buffer): boolean {
  return head.toString('latin1', TAR_MAGIC_AT, TAR_MAGIC_AT + 5) === 'ustar'
}
