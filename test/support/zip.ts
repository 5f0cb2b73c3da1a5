import { crc32 } from 'node:zlib'

const LOCAL = 0x04034b50
const CENTRAL = 0x02014b50
const END = 0x06054b50

/** A ZIP file without compression. */
export function zipOf(files: Readonly<Record<string, Buffer>>): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [file, bytes] of Object.entries(files)) {
    const name = Buffer.from(file)
    const local = Buffer.alloc(30)
    local.writeUInt32LE(LOCAL, 0)
    local.writeUInt16LE(20, 4)
    const central = Buffer.alloc(46)
    central.writeUInt32LE(CENTRAL, 0)
    central.writeUInt16LE(20, 4)
    central.writeUInt16LE(20, 6)
    for (const [header, at] of [
      [local, 14],
      [central, 16],
    ] as const) {
      header.writeUInt32LE(crc32(bytes), at)
      header.writeUInt32LE(bytes.length, at + 4)
      header.writeUInt32LE(bytes.length, at + 8)
      header.writeUInt16LE(name.length, at + 12)
    }
    central.writeUInt32LE(offset, 42)
    parts.push(local, name, bytes)
    directory.push(central, name)
    offset += local.length + name.length + bytes.length
  }
  const end = Buffer.alloc(22)
  end.writeUInt32LE(END, 0)
  end.writeUInt16LE(Object.keys(files).length, 8)
  end.writeUInt16LE(Object.keys(files).length, 10)
  end.writeUInt32LE(Buffer.concat(directory).length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, ...directory, end])
}
