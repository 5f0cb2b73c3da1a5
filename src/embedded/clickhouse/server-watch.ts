import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import { Loop } from '../../run/loop.ts'
import { EMBEDDED_USER, FAILED_WRITES } from '../../stores/clickhouse/failed-writes.ts'
import { quote } from '../../stores/clickhouse/quote.ts'
import { ANALYST } from './passwords.ts'
import { WORKSPACE } from './server-config.ts'

const ANSWER_WITHIN_MS = 10_000
const WATCH_EVERY_MS = 5_000
/** Replaced parts are kept for 8 minutes. */
const BLIND_MS = 60_000
const DELAY = { minMs: 1_000, maxMs: WATCH_EVERY_MS }

/** A server of this machine, as the user of ipid's own processes. */
export class OwnServer {
  readonly #url: string
  readonly #headers: Record<string, string>
  readonly port: number

  constructor(port: number, password: string) {
    this.port = port
    this.#url = `http://127.0.0.1:${port}`
    this.#headers = { 'X-ClickHouse-User': EMBEDDED_USER, 'X-ClickHouse-Key': password }
  }

  /** The result of a statement as text. @throws Error when the server does not answer, or answers with an error */
  async ask(sql: string): Promise<string> {
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
    const response = await fetch(this.#url, { method: 'POST', body: sql, headers: this.#headers, signal })
    const text = await response.text()
    if (!response.ok) throw new Error(text.trim())
    return text
  }

  /** Whether it answers this user. Never rejects. */
  async answers(): Promise<boolean> {
    return await this.ask('SELECT 1').then(
      () => true,
      () => false,
    )
  }

  /** Makes the database for tables of analysts. A full disk must not keep the server from starting. */
  async makeWorkspace(log: Pick<Logger, 'warn'>): Promise<void> {
    try {
      await this.ask(`CREATE DATABASE IF NOT EXISTS ${WORKSPACE}`)
    } catch (error) {
      log.warn({ err: error }, `the database ${WORKSPACE} cannot be made: analysts have no tables of their own`)
    }
  }

  /** The number of statements that run, without this one. */
  async running(): Promise<number> {
    return (
      Number(await this.ask(`SELECT count() FROM system.processes WHERE user IN ('${EMBEDDED_USER}', '${ANALYST}')`)) -
      1
    )
  }
}

/** Reads of analysts by HTTP that run, with the ports of their clients. */
const READS = `SELECT groupArray((query_id, port)) FROM system.processes
  WHERE user = '${ANALYST}' AND interface = 2 AND is_initial_query AND query_kind IN ('Select', 'Explain')`

const LOOK = `SELECT (${FAILED_WRITES}) AS failed, (${READS}) AS reads
  SETTINGS output_format_json_quote_64bit_integers = 0 FORMAT JSONEachRow`

interface Seen {
  readonly failed: number
  readonly reads: readonly (readonly [queryId: string, port: number])[]
}

/**
 * Watches a server: ends it after a failed write, see `stores/clickhouse/failed-writes.ts`, and cancels reads whose client has left, which
 * ClickHouse does only for users who may not write.
 * @param end ends the process at once
 */
export function watchServer(server: OwnServer, log: Logger, end: () => void): Loop {
  let seenAtMs = performance.now()
  return new Loop({
    name: 'clickhouse-watch',
    delay: DELAY,
    unref: true,
    failed: (error) => {
      const isLong = performance.now() - seenAtMs > BLIND_MS
      log[isLong ? 'warn' : 'debug'](
        { err: error },
        'the embedded ClickHouse cannot be asked whether its writes failed',
      )
    },
    round: async () => {
      const { failed, reads } = JSON.parse(await server.ask(LOOK)) as Seen
      seenAtMs = performance.now()
      if (failed > 0) {
        log.error({ failed }, 'ClickHouse failed to write to its disk: restarting it, so that it finds the damage')
        end()
      } else if (reads.length > 0) await cancelDeparted(server, reads)
      return WATCH_EVERY_MS
    },
  })
}

async function cancelDeparted(server: OwnServer, reads: Seen['reads']): Promise<void> {
  const connected = await connectedPorts(server.port)
  if (connected === undefined) return
  const departed = reads.filter(([, port]) => !connected.has(port)).map(([queryId]) => quote(queryId))
  if (departed.length > 0) {
    await server.ask(`KILL QUERY WHERE user = '${ANALYST}' AND query_id IN (${departed.join()}) ASYNC`)
  }
}

/** State of a connection in the kernel's table: established. */
const ESTABLISHED = '01'

/**
 * The ports of clients on this machine that are connected to a port of 127.0.0.1.
 * @returns undefined where the kernel has no table of connections (macOS)
 */
async function connectedPorts(port: number): Promise<ReadonlySet<number> | undefined> {
  let table: string
  try {
    table = await readFile('/proc/net/tcp', 'utf8')
  } catch {
    return undefined
  }
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const ports = new Set<number>()
  for (const line of table.split('\n')) {
    const [, address, client, state] = line.trim().split(/\s+/)
    if (address === local && state === ESTABLISHED) ports.add(Number.parseInt(client!.split(':')[1]!, 16))
  }
  return ports
}
