import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Progress } from './progress-watch.ts'

const STATUS_LINE = 'HTTP/1.1 200 OK\r\n'

/**
 * An answer whose head may begin while its statement runs: with lines of `X-ClickHouse-Progress`, as ClickHouse sends
 * them. Its status is 200 from then on, whatever becomes of the statement.
 */
export class ProgressResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
  #hasBegun = false

  /** Sends a line, unless it is too late for one, or the client does not read. */
  sendProgress(progress: Progress): void {
    const { socket, req } = this
    if (this.headersSent || req.method === 'HEAD' || req.httpVersion !== '1.1') return
    if (!socket?.writable || socket.writableNeedDrain) return
    if (!this.#hasBegun) socket.write(STATUS_LINE)
    this.#hasBegun = true
    socket.write(`X-ClickHouse-Progress: ${progressText(progress)}\r\n`)
  }

  override writeHead(...args: unknown[]): this {
    Reflect.apply(super.writeHead, this, args)
    if (this.#hasBegun) this.#dropStatusLine()
    return this
  }

  /** Node sends a head as a whole. What it is about to send is in this field, in all its versions. */
  #dropStatusLine(): void {
    const head = this as unknown as { _header: string }
    head._header = head._header.slice(head._header.indexOf('\r\n') + 2)
  }
}

function progressText({ written_rows, written_bytes, ...others }: Progress): string {
  return JSON.stringify(written_rows === '0' ? others : { ...others, written_rows, written_bytes })
}
