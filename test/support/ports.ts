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
const BLOCK = 128
const TRIES_MAX = 1_000

const base = await reserveBlock()
let taken = 0

/** A port that no other test has, in any process and run; it is free when the first test begins. */
export function takePort(): number {
  // After the last one, those of earlier tests of this process are free again.
  return base + 1 + (taken++ % (BLOCK - 1))
}

/** The first port that the system assigns to connections and to listeners on port 0. */
export function systemPortsFrom(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'latin1').split(/\s/)[0])
  } catch {
    return 49_152
  }
}

async function reserveBlock(): Promise<number> {
  const blocks = Math.floor((Math.max(systemPortsFrom(), FIRST + 20 * BLOCK) - FIRST) / BLOCK)
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const start = FIRST + BLOCK * Math.floor(Math.random() * blocks)
    const lock = await listen(start)
    if (lock === undefined) continue
    if (await areFree(start + 1, start + BLOCK)) {
      lock.unref()
      return start
    }
    lock.close()
  }
  throw new Error(`no ${BLOCK} free ports in a row`)
}

async function areFree(from: number, to: number): Promise<boolean> {
  const servers = await Promise.all(Array.from({ length: to - from }, (_, i) => listen(from + i)))
  const open = servers.filter((server) => server !== undefined)
  await Promise.all(open.map((server) => once(server.close(), 'close')))
  return open.length === servers.length
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
