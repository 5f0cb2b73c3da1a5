import type { EngineLimits } from './access.ts'
import type { RefusedDefinition } from './stored-definitions.ts'

/** The one argument of the process, as JSON. */
export interface ProcessOptions {
  /** Absolute path of the data folder. */
  readonly path: string
  /** 0 for any free port. */
  readonly port: number
  readonly logLevel: string
  /** Parallel statements of clients, and of ipid itself. */
  readonly statements: number
  readonly ownStatements: number
  /** Additional slots for plain inserts of clients. */
  readonly inserts: number
  readonly limits: EngineLimits
  /** Whether statements may reach files, programs and other servers. */
  readonly external: boolean
  /** Size of one request, decoded. */
  readonly bodyBytesMax?: number
  /** How long a reader of a result may stall. */
  readonly sendMsMax?: number
}

export interface Ready {
  readonly type: 'ready'
  readonly url: string
  /** Whether the wall of `wall.ts` is active. */
  readonly walled: boolean
}

/** Definitions in the data folder that would be refused today, for the parent's log. */
interface Refused {
  readonly type: 'refused'
  readonly definitions: readonly RefusedDefinition[]
}

export type FromClickHouse = Ready | Refused | { type: 'failed'; message: string }

/** The secret is the first message. Arguments and environment variables would be readable by other processes. */
export type ToClickHouse = { type: 'secret'; secret: string } | { type: 'stop' }
