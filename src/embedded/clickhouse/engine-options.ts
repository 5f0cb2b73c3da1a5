import type { EngineAccess, EngineLimits } from './access.ts'

export interface EngineOptions extends EngineAccess, EngineLimits {
  /** Statements of everybody else that run at a time. */
  readonly statements: number
  /** What ipid itself asks that runs at a time beside them. */
  readonly ownStatements: number
  readonly inserts: number
  /** Statements that wait for one of them to end. */
  readonly waitingMax: number
  readonly sessionsMax: number
  /** Writes to the disk failed: ends this process at once, so that the next start finds what they damaged. */
  readonly endDamaged: (failedWrites: number) => void
}
