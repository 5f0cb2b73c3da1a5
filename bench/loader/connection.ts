import { connect, type Socket } from 'node:net'

const READ_BYTES = 64 * 1_024
const END_OF_HEAD = '\r\n\r\n'
const END_OF_CHUNKS = Buffer.from('0\r\n\r\n')

/** A keep-alive connection, one request at a time. */
export class Connection {
  readonly #socket: Socket
  #done: ((status: number) => void) | undefined
  #status = 0
  /** Missing bytes of the body; -1 before the head is complete; -2 for a chunked body. */
  #left = -1
  #part: Buffer | undefined
  /** The last bytes of a chunked body. */
  #tail = Buffer.alloc(0)

  private constructor(socket: Socket) {
    this.#socket = socket
  }

  static open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url)
    return new Promise((resolve, reject) => {
      let connection: Connection | undefined
      const socket = connect({
        host: hostname,
        port: Number(port),
        onread: {
          buffer: Buffer.allocUnsafe(READ_BYTES),
          callback: (bytes, buffer) => {
            connection!.#take((buffer as Buffer).subarray(0, bytes))
            return true
          },
        },
      })
      socket.setNoDelay(true)
      socket.once('connect', () => {
        connection = new Connection(socket)
        resolve(connection)
      })
      socket.on('error', reject)
      socket.once('close', () => {
        if (connection !== undefined) connection.#finish(0)
      })
    })
  }

  /** @param done called with the status; 0 for a broken connection */
  send(request: Buffer, done: (status: number) => void): void {
    if (this.#socket.destroyed) {
      queueMicrotask(() => done(0))
      return
    }
    this.#done = done
    this.#socket.write(request)
  }

  end(): void {
    this.#done = undefined
    this.#socket.destroy()
  }

  #take(bytes: Buffer): void {
    if (this.#left === -1) this.#takeHead(bytes)
    else this.#takeBody(bytes)
  }

  #takeHead(bytes: Buffer): void {
    const known = this.#part === undefined ? bytes : Buffer.concat([this.#part, bytes])
    const end = known.indexOf(END_OF_HEAD)
    if (end < 0) {
      this.#part = Buffer.from(known)
      return
    }
    this.#part = undefined
    const head = known.toString('latin1', 0, end)
    this.#status = Number(head.slice(9, 12))
    const length = /content-length: *(\d+)/i.exec(head)?.[1]
    this.#left = length === undefined ? -2 : Number(length)
    this.#takeBody(known.subarray(end + END_OF_HEAD.length))
  }

  #takeBody(bytes: Buffer): void {
    if (this.#left === -2) {
      // Lines of JSON cannot look like the last chunk.
      this.#tail = Buffer.concat([this.#tail, bytes]).subarray(-END_OF_CHUNKS.length)
      if (this.#tail.equals(END_OF_CHUNKS)) this.#finish(this.#status)
      return
    }
    this.#left -= bytes.length
    if (this.#left <= 0) this.#finish(this.#status)
  }

  #finish(status: number): void {
    const done = this.#done
    this.#done = undefined
    this.#left = -1
    this.#tail = Buffer.alloc(0)
    done?.(status)
  }
}
