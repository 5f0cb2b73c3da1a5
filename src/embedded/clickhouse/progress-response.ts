import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Progress } from './progress-watch.ts'

const STATUS_LINE = 'HTTP/1.1 200 OK\r\n'

/**
 * A response that can send `X-ClickHouse-Progress` headers while its statement runs, like ClickHouse. The status is then
 * 200, even if the statement fails.
 */
export class ProgressResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
  #hasBegun = false

  /** Sends a header, unless the head was sent already or the client does not read. */
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

  /** Node can only send a complete head. All its versions keep the head in this field before they send it. */
  #dropStatusLine(): void {
    const head = this as unknown as { _header: string }
    head._header = head._header.slice(head._header.indexOf('\r\n') + 2)
  }
}

function progressText({ written_rows, written_bytes, ...others }: Progress): string {
  return JSON.stringify(written_rows === '0' ? others : { ...others, written_rows, written_bytes })
}
