import type { Clock } from '../../run/clock.ts'
import type { Block } from '../event/block.ts'

/** The part of a Redis client that an observer needs. */
export interface ObserverStore {
  callBuffer(command: string, ...args: (string | number | Buffer)[]): Promise<unknown>
}

/**
 * Gets the rows that a sink has stored. It is called after they are stored and before they are acknowledged, so it gets each row at least
 * once: after a crash it is called again. A rejection counts as a failure of the sink, so an observer only writes short notes.
 */
export interface RowObserver {
  open(tools: { readonly store: ObserverStore; readonly clock: Clock }): (blocks: readonly Block[]) => Promise<void>
}
