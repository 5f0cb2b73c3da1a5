import { open } from 'node:fs/promises'
import { findUws } from '../../src/http/engine/choose.ts'
import { receiveInput, send } from '../run/child.ts'

/*
 * A server that discards each posted body, or writes it to a file, and always sends the same response: the cost of
 * uWebSockets.js alone.
 */

interface Input {
  readonly answer: string
  readonly contentType: string
  /** Bodies are written to this file and fsynced before the response. */
  readonly keepsIn?: string
}

const found = findUws()
if (typeof found === 'string') throw new Error(found)
const { uWS } = found

const { answer, contentType, keepsIn } = await receiveInput<Input>()

/** Writes the chunks of a body. The promise of the last one resolves when all are on disk. */
function keeper(path: string): (piece: ArrayBuffer, isLast: boolean) => Promise<void> {
  let written = open(path, 'w')
  return async (piece, isLast) => {
    // The memory is invalid after the handler.
    const bytes = Buffer.from(Buffer.from(piece))
    written = written.then(async (file) => {
      await file.write(bytes)
      return file
    })
    if (!isLast) return
    const file = await written
    await file.datasync()
    await file.close()
  }
}

uWS
  .App()
  .post('/*', (response) => {
    response.onAborted(() => {})
    const keep = keepsIn === undefined ? undefined : keeper(keepsIn)
    response.onData(async (piece, isLast) => {
      const kept = keep?.(piece, isLast)
      if (!isLast) return
      await kept
      response.cork(() => response.writeHeader('content-type', contentType).end(answer))
    })
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (!socket) throw new Error('the bare server cannot listen')
    send({ url: `http://127.0.0.1:${uWS.us_socket_local_port(socket)}` })
  })
