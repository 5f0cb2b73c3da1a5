export interface SocketLock {
  /** Frees the lock. */
  release(): Promise<void>
}

/** Takes the lock. Resolves with undefined when a running process holds it. Rejects when no socket can be created at the path. */
export function takeLock(path: string): Promise<SocketLock | undefined>

/** Whether a running process holds the lock. */
export function isHeld(path: string): Promise<boolean>

/** Resolves when the holder has released the lock or has ended. */
export function untilReleased(path: string): Promise<void>
