import type { ServerResponse } from 'node:http'

/**
 * Writes at once, in one packet if it fits: Node.js itself writes at the end of the turn. Returns whether the kernel took
 * everything.
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
