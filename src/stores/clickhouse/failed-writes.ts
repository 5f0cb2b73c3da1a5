import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { UnavailableError } from '../../run/errors.ts'

/*
 * The embedded ClickHouse (26.7) continues after a failed write to its disk: it acknowledges inserts, and merges replace their source parts,
 * with truncated or empty files. At its next start it sets a damaged part aside and loads its source parts. So an insert counts only
 * when no write has failed until then, and the process that started the server ends it after a failed write
 * (`embedded/clickhouse/server-watch.ts`). The sink repeats the insert under its token.
 */

/** The user of ipid's own processes in the embedded ClickHouse. Its name tells that a server is ours. */
export const EMBEDDED_USER = 'ipid-embedded'

/** A disk of the embedded ClickHouse without kept space: `system.disks` has the space that is really free. Nothing is stored on it. */
export const ROOM_DISK = 'room'

/** Number of failed writes to the disk since the server started, as a query. */
export const FAILED_WRITES =
  "SELECT sum(value) FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteFailed'"

/** The program's own session, whose user has no name, shows one statement. Its id changes with each start. */
const START = "SELECT argMax(query_id, elapsed) FROM system.processes WHERE user = ''"

const FREE_BYTES = `SELECT any(free_space) FROM system.disks WHERE name = '${ROOM_DISK}'`

const CHECK = `SELECT (${FAILED_WRITES}) AS failed, (${START}) AS start, (${FREE_BYTES}) AS free`

/** The server's report about its disk. */
export interface DiskState {
  readonly failed: number
  /** Differs after each start of the server. */
  readonly start: string
  /** Bytes. */
  readonly free: number
}

/** The engine reserves no space for the file of a definition, and a truncated file would lose its table. */
const DEFINITION_BYTES = 8 * 1_048_576
const DEFINES = /^\s*(?:CREATE|ALTER|RENAME|EXCHANGE)\b/i
const REMOVES = /\b(?:DROP|DELETE)\b/i

/**
 * Makes inserts and commands of a client fail when the server could not write to its disk, or was started again meanwhile: then it is
 * unknown whether they are stored. They may be repeated.
 * @param client of the embedded ClickHouse; it is changed, and returned
 * @param asking a client of the same server for a database that always exists; closed with the client
 */
export function checkingWrites(client: ClickHouseClient, asking: ClickHouseClient): ClickHouseClient {
  return checked(
    client,
    async () => await diskStateOf(asking),
    () => asking.close(),
  )
}

/** Like `checkingWrites`, with a given `ask`. */
export function checked(
  client: ClickHouseClient,
  ask: () => Promise<DiskState>,
  close: () => Promise<void> = async () => {},
): ClickHouseClient {
  const insert = client.insert.bind(client)
  const command = client.command.bind(client)
  const closeClient = client.close.bind(client)
  const look = async () => {
    const state = await ask()
    // The server is starting or stopping.
    if (state.start === '') throw new UnavailableError('ClickHouse is not ready')
    if (state.failed > 0) throw new UnavailableError('ClickHouse could not write to its disk: it starts again')
    return state
  }
  const within = async <T>({ start }: DiskState, work: () => Promise<T>): Promise<T> => {
    const result = await work()
    if ((await look()).start === start) return result
    throw new UnavailableError('ClickHouse was started again meanwhile, so it is unknown whether this is stored')
  }
  client.insert = (async (...args: Parameters<typeof insert>) =>
    await within(await look(), () => insert(...args))) as typeof client.insert
  client.command = async (params) => {
    const { query } = params
    const state = await look()
    if (DEFINES.test(query) && !REMOVES.test(query) && state.free < DEFINITION_BYTES) {
      throw new UnavailableError(`the disk of ClickHouse is full: ${state.free} bytes are free`)
    }
    return await within(state, () => command(params))
  }
  client.close = async () => {
    await Promise.all([closeClient(), close()])
  }
  return client
}

const ANSWER: ClickHouseSettings = { output_format_json_quote_64bit_integers: 0, max_threads: 1 }

/** Asks the embedded ClickHouse. @throws when it does not answer */
export async function diskStateOf(asking: ClickHouseClient): Promise<DiskState> {
  const result = await asking.query({ query: CHECK, format: 'JSONEachRow', clickhouse_settings: ANSWER })
  const [state] = await result.json<DiskState>()
  return state!
}
