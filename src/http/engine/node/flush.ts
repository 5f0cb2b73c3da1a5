import type { ServerResponse } from 'node:http'

/**
 * Writes in one packet, if it fits, and at once: Node.js by itself writes at the end of the turn. Returns whether the
 * kernel took all of it.
 */
export function flush(response: ServerResponse, write: () => void): boolean {
  const { socket } = response
  if (socket === null) {
    write()
    return true
  }
  socket.cork()
  write()
  socket.uncork()
  return socket.writableLength === 0
}
