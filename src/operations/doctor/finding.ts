import type { Config, Environment, Role } from '../../config/config.ts'
import type { DataDir } from '../../embedded/processes/data-dir.ts'
import type { InstanceFile } from '../../terminal/instance.ts'

/**
 * `problem`: ipid does not start, does not work, or may lose or double events. `risk`: it works now, but something may stop it,
 * slow it down or let others in. `fine`: looked at, and in order.
 */
export type Level = 'problem' | 'risk' | 'fine'

/** The result of a check. */
export interface Finding {
  /** Name of the check. Several findings may have the same. */
  readonly check: string
  readonly level: Level
  /** The observation, without secrets. */
  readonly seen: string
  /** Why it matters, in one sentence. Undefined when it is fine. */
  readonly why?: string
  /** A command or a setting that mends it. Undefined when it is fine. */
  readonly remedy?: string
}

/** Makes the findings of one check. */
export function findingsOf(check: string) {
  const bad =
    (level: Level) =>
    (seen: string, why: string, remedy: string): Finding => {
      return { check, level, seen, why, remedy }
    }
  const fine = (seen: string): Finding => ({ check, level: 'fine', seen })
  return { problem: bad('problem'), risk: bad('risk'), fine }
}

/** The subject of the checks. */
export interface Subject {
  /** With the settings that the running instance was started with, if there is one. */
  readonly config: Config
  readonly env: Environment
  /** Roles that run, or would be started. */
  readonly roles: readonly Role[]
  /** Undefined when its contents cannot be trusted. */
  readonly dir: DataDir | undefined
  /** Undefined: none runs on this DATA_DIR, or it is not ready. */
  readonly running: InstanceFile | undefined
  /** An ipid has this DATA_DIR, and starts, stops, or is `running`. */
  readonly isHeld: boolean
}

/** How long a server may take to connect, and for each answer. */
export const ANSWER_MS = 5_000
