import { lstatSync, renameSync, unlinkSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/*
 * A lock that ends with its holder: a listening unix socket. The file may outlive the holder, but the listener does not, so a
 * connection shows whether the lock is held. Plain JavaScript, because the bootstrap needs it before packages are installed.
 */

/** Within this time, a rival that also found the lock free has moved its own socket there. */
const SETTLE_MS = 100

/**
 * Takes the lock, or answers undefined when a running process holds it.
 * @param {string} path of a socket in a folder that only this user may write; at most about 90 bytes
 */
export async function takeLock(path) {
  const own = `${path}.${process.pid}`
  while (!(await isHeld(path))) {
    unlinkIfThere(own)
    const server = await listen(own)
    const inode = inodeOf(own)
    // The last of several rivals wins. Closing the server later unlinks only its first name, not this one.
    renameSync(own, path)
    await sleep(SETTLE_MS)
    if (inodeOf(path) === inode) return { release: () => release(server, path, inode) }
    await server.end()
  }
  return undefined
}

/** Whether a running process holds the lock. */
export function isHeld(path) {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error) => resolve(error.code === 'EAGAIN'))
  })
}

/** Resolves when the holder has released the lock or has ended. After kill -9 perhaps a moment early, so call `takeLock` in a loop. */
export function untilReleased(path) {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.on('error', () => {})
    socket.once('close', () => resolve())
    socket.resume()
  })
}

async function release(server, path, inode) {
  if (inodeOf(path) === inode) unlinkIfThere(path)
  await server.end()
}

function listen(path) {
  return new Promise((resolve, reject) => {
    const waiting = new Set()
    const server = createServer((socket) => {
      waiting.add(socket)
      socket.unref()
      socket.on('error', () => {})
      socket.on('close', () => waiting.delete(socket))
    })
    server.maxConnections = 256
    const end = () =>
      new Promise((done) => {
        server.close(() => done())
        for (const socket of waiting) socket.destroy()
      })
    server.once('error', reject)
    server.listen(path, () => {
      server.unref()
      resolve({ end })
    })
  })
}

function inodeOf(path) {
  return lstatSync(path, { throwIfNoEntry: false })?.ino
}

function unlinkIfThere(path) {
  try {
    unlinkSync(path)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}
