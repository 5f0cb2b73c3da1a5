import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'

/*
 * Ports for servers that a test starts, kills and starts again. Another process or a connection can take a port found by
 * listening on port 0 as soon as it is closed. So each process has its own block of ports, below those that the system
 * assigns, for as long as it listens on the first of them.
 */

const HOST = '127.0.0.1'
const FIRST = 10_240
/** More than the files of a process take: a port that was given out may serve until the process ends. */
const BLOCK = 512
const BLOCKS_MIN = 20
const TRIES_MAX = 1_000

const free = await reserveBlock()

/** A port that no other test has, in any process and run; it was free when the process began, and is given out once. */
export function takePort(): number {
  const port = free.pop()
  if (port === undefined) throw new Error(`the tests of one process take at most ${BLOCK - 1} ports`)
  return port
}

/** The first port that the system assigns to connections and to listeners on port 0. */
export function systemPortsFrom(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'latin1').split(/\s/)[0])
  } catch {
    return 49_152
  }
}

async function reserveBlock(): Promise<number[]> {
  const blocks = Math.floor((Math.max(systemPortsFrom(), FIRST + BLOCKS_MIN * BLOCK) - FIRST) / BLOCK)
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const start = FIRST + BLOCK * Math.floor(Math.random() * blocks)
    const lock = await listen(start)
    if (lock === undefined) continue
    lock.unref()
    return freePorts(start + 1, start + BLOCK)
  }
  throw new Error(`no block of ${BLOCK} ports that is not in use`)
}

async function freePorts(from: number, to: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: to - from }, (_, i) => listen(from + i)))
  const open = servers.flatMap((server, i) => (server === undefined ? [] : [{ server, port: from + i }]))
  await Promise.all(open.map(({ server }) => once(server.close(), 'close')))
  return open.map(({ port }) => port)
}

async function listen(port: number): Promise<Server | undefined> {
  const server = createServer()
  try {
    server.listen({ host: HOST, port, exclusive: true })
    await once(server, 'listening')
    return server
  } catch {
    return undefined
  }
}
