import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartupError } from '../../run/errors.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { Engine } from './engine.ts'
import type { FromClickHouse, ProcessOptions, ToClickHouse } from './messages.ts'
import { OwnClients } from './own-clients.ts'
import { createClickHouseServer } from './server.ts'
import { isWalled } from './wall.ts'

/**
 * The process of the embedded ClickHouse. States: opening, serving, stopping. A message or a signal stops it: it refuses new
 * statements, lets running ones finish, and closes the folder. It exits at once when its parent has died.
 */

const BODY_BYTES_MAX = 268_435_456
const MEMORY_BYTES_MAX = 2 * BODY_BYTES_MAX
/** The default of ClickHouse's `http_send_timeout`. */
const SEND_MS_MAX = 30_000
const STATEMENTS_WAITING_MAX = 1_000
/** A session takes 0.15 MB, plus its temporary tables. */
const SESSIONS_MAX = 200

/** Time for statements to finish. Then reads are cancelled, and after `LEAVE_MS` the process ends. */
const FINISH_MS = 3_000
const CANCEL_MS = 1_500
/** A statement with a stalled reader blocks in a write and cannot be cancelled. After this time, its reader is disconnected. */
const LEAVE_MS = 1_500

const options = JSON.parse(process.argv[2] ?? '{}') as ProcessOptions
const log = await createLogger({ level: options.logLevel, name: 'clickhouse', pretty: process.stderr.isTTY })

function send(message: FromClickHouse): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected || process.send === undefined) resolve()
    else process.send(message, () => resolve())
  })
}

async function listen(server: Server): Promise<string> {
  server.listen(options.port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new StartupError(`port ${options.port} of 127.0.0.1 cannot be used: ${(error as Error).message}`)
  }
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function serve(): Promise<void> {
  const { path, statements, ownStatements, inserts, external, limits } = options
  const engine = Engine.open(path, {
    ...{ statements, ownStatements, inserts, external, ...limits },
    waitingMax: STATEMENTS_WAITING_MAX,
    sessionsMax: SESSIONS_MAX,
    endDamaged: (writes) => {
      log.error({ path, writes }, 'writes to the disk failed: starting again, to find what they damaged')
      end()
    },
  })
  const server = createClickHouseServer(engine, {
    limits: { bodyBytesMax: options.bodyBytesMax ?? BODY_BYTES_MAX, memoryBytesMax: MEMORY_BYTES_MAX },
    bodyFolder: join(path, 'bodies'),
    sendMsMax: options.sendMsMax ?? SEND_MS_MAX,
    own: new OwnClients(ownSecret),
    log,
  })
  const stopped = stopRequested()
  const url = await listen(server)
  const walled = isWalled()
  log.info({ url, path, walled }, 'serving')
  await send({ type: 'ready', url, walled })
  void reportRefused(engine)
  const reason = await stopped
  log.info({ reason }, 'stopping')
  server.close()
  server.closeIdleConnections()
  await finish(engine, server)
}

/** Logs refused definitions. A failure must not stop the server. */
async function reportRefused(engine: Engine): Promise<void> {
  try {
    const definitions = await engine.refusedDefinitions()
    if (definitions.length > 0) await send({ type: 'refused', definitions })
  } catch (error) {
    log.warn({ err: error }, 'the definitions in the data folder could not be judged')
  }
}

async function finish(engine: Engine, server: Server): Promise<void> {
  const idle = engine.idle().then(() => true)
  const isIdleWithin = (ms: number) => Promise.race([idle, sleep(ms, false)])
  let isIdle = await isIdleWithin(FINISH_MS)
  if (!isIdle) {
    await engine.cancelReads()
    isIdle = await isIdleWithin(CANCEL_MS)
  }
  if (!isIdle) {
    server.closeAllConnections()
    isIdle = await isIdleWithin(LEAVE_MS)
  }
  if (isIdle) await engine.close()
  else
    log.warn(
      'statements are still running; each of their inserts is stored whole or not at all, as after a power failure',
    )
}

/** Exits at once, because the next process needs the port and the folder. A crash does not harm stored data. */
function end(): void {
  process.kill(process.pid, 'SIGKILL')
}

function stopRequested(): Promise<string> {
  return new Promise((resolve) => {
    process.on('message', (message: ToClickHouse) => {
      if (message.type === 'stop') resolve('asked to')
    })
    process.on('SIGTERM', () => resolve('SIGTERM'))
    process.on('SIGINT', () => resolve('SIGINT'))
    if (process.send === undefined) return
    process.on('disconnect', end)
    // The parent may have died before the listener was set.
    if (!process.connected) end()
  })
}

let secret: string | undefined
process.on('message', (message: ToClickHouse) => {
  if (message.type === 'secret') secret = message.secret
})
const ownSecret = () => secret

try {
  await serve()
  process.exit(0)
} catch (error) {
  log[error instanceof StartupError ? 'debug' : 'error']({ err: error }, 'cannot serve')
  await send({ type: 'failed', message: (error as Error).message })
  process.exit(1)
}
