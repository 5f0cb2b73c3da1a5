import { Command } from 'ioredis'

/** What is used of a socket. */
interface VectoredWriter {
  cork(): void
  uncork(): void
  write(part: string | Buffer): unknown
}

/**
 * A command of which bytes go to the socket as they are; nothing is written before the end of the turn, and then all of it, by one
 * `writev`. Of any other command with a Buffer ioredis makes another Buffer, and again one of its pipeline: two copies of all that is
 * stored, and garbage of that size. What it is given must not change before the reply is there.
 */
export class VectoredCommand extends Command {
  /** @returns what is left to be written */
  override toWritable(socket: object): string {
    const writer = socket as VectoredWriter
    writer.cork()
    process.nextTick(() => writer.uncork())
    let text = `*${this.args.length + 1}\r\n${bulkString(this.name)}`
    for (const arg of this.args) {
      if (arg instanceof Buffer && arg.length > 0) {
        writer.write(`${text}$${arg.length}\r\n`)
        writer.write(arg)
        text = '\r\n'
      } else {
        text += bulkString(String(arg))
      }
    }
    return text
  }
}

/** A bulk string of RESP2 (https://redis.io/docs/latest/develop/reference/protocol-spec/#bulk-strings). */
function bulkString(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`
}
