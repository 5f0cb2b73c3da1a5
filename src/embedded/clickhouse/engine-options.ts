import type { EngineAccess, EngineLimits } from './access.ts'

export interface EngineOptions extends EngineAccess, EngineLimits {
  /** Parallel statements of clients. */
  readonly statements: number
  /** Additional parallel statements of ipid itself. */
  readonly ownStatements: number
  readonly inserts: number
  /** Statements that may wait for a slot. */
  readonly waitingMax: number
  readonly sessionsMax: number
  /** Called after failed disk writes. Must end this process at once, so that the next start finds the damage. */
  readonly endDamaged: (failedWrites: number) => void
}
