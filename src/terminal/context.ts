import type { RoleModule } from '../app.ts'
import type { Environment } from '../config/config.ts'

/** What a process is asked from outside. */
export interface StopSignals {
  /** SIGTERM or SIGINT: finish, then exit. */
  readonly stop: AbortSignal
  /** The second one: exit. */
  readonly force: AbortSignal
}

/** What a command sees of its process. */
export interface CliContext {
  readonly env: Environment
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  /** Takes over SIGTERM and SIGINT. A command that does not call it ends by them at once. */
  readonly stopSignals: () => StopSignals
  /** The roles that `ipid start` runs in processes of their own. */
  readonly roleModule: () => Promise<RoleModule>
}
