import type { Environment } from '../config/config.ts'

/** Requests to end the process. */
export interface StopSignals {
  /** SIGTERM or SIGINT: finish, then exit. */
  readonly stop: AbortSignal
  /** A second signal: exit at once. */
  readonly force: AbortSignal
}

/** The parts of its process that a command may use. */
export interface CliContext {
  readonly env: Environment
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  /** Takes over SIGTERM and SIGINT. Without this call a signal ends the process at once. */
  readonly stopSignals: () => StopSignals
}
