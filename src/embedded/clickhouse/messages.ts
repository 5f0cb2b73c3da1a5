import type { EngineLimits } from './access.ts'
import type { RefusedDefinition } from './stored-definitions.ts'

/** The one argument of the process, as JSON. */
export interface ProcessOptions {
  /** Folder of the data, absolute. */
  readonly path: string
  /** 0: any free one. */
  readonly port: number
  readonly logLevel: string
  /** Statements that run at a time, and those that have slots of their own. */
  readonly statements: number
  readonly ownStatements: number
  /** Plain inserts of others, which have slots besides. */
  readonly inserts: number
  readonly limits: EngineLimits
  /** Whether statements may reach files, programs and other servers. */
  readonly external: boolean
  /** Size of one request, decoded. */
  readonly bodyBytesMax?: number
  /** How long a reader may take nothing of its result. */
  readonly sendMsMax?: number
}

export interface Ready {
  readonly type: 'ready'
  readonly url: string
  /** Whether the wall of `wall.ts` stands. */
  readonly walled: boolean
}

/** Definitions in the data folder that would be refused today, for the log of the parent, which operators see. */
export interface Refused {
  readonly type: 'refused'
  readonly definitions: readonly RefusedDefinition[]
}

export type FromClickHouse = Ready | Refused | { type: 'failed'; message: string }

/** The secret comes first, and never in an argument or a variable, which others can read. */
export type ToClickHouse = { type: 'secret'; secret: string } | { type: 'stop' }
