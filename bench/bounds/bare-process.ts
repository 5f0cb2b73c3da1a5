import uWS from 'uWebSockets.js'
import { open } from 'node:fs/promises'
import { tell, told } from '../run/child.ts'

/*
 * Swallows what is posted to it, or keeps it in a file, and answers the same bytes every time: what uWebSockets.js takes without a
 * product.
 */

interface Told {
  readonly answer: string
  readonly contentType: string
  /** What is posted is on disk, in this file, before it is answered. */
  readonly keepsIn?: string
}

const { answer, contentType, keepsIn } = await told<Told>()

/** Takes the pieces of a body as they come; the last one resolves when the disk has all of them. */
function keeper(path: string): (piece: ArrayBuffer, isLast: boolean) => Promise<void> {
  let written = open(path, 'w')
  return async (piece, isLast) => {
    // It is gone behind the handler.
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
    tell({ url: `http://127.0.0.1:${uWS.us_socket_local_port(socket)}` })
  })
