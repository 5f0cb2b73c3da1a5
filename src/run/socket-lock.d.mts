export interface SocketLock {
  /** Others can take it from now on. */
  release(): Promise<void>
}

/** Takes the lock, or answers undefined when a running process holds it. Rejects when no socket can be made there. */
export function takeLock(path: string): Promise<SocketLock | undefined>

/** Whether a running process holds the lock. */
export function isHeld(path: string): Promise<boolean>

/** Resolves when the holder of the lock has released it, or is gone. */
export function untilReleased(path: string): Promise<void>
