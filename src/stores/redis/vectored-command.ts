import { Command } from 'ioredis'

/** The used part of a socket. */
interface VectoredWriter {
  cork(): void
  uncork(): void
  write(part: string | Buffer): unknown
}

/**
 * A command whose Buffers go to the socket without a copy, at the end of the turn, in one `writev`. For other commands ioredis copies
 * Buffers twice, once for the command and once for the pipeline. The caller must not change the Buffers before the reply.
 */
export class VectoredCommand extends Command {
  /** @returns the text that ioredis still has to write */
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
