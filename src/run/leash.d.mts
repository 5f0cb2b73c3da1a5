interface Leash {
  /** The child has ended, or may continue alone. */
  release(): void
}

/**
 * Ties a child to this process. When this process ends without calling `release`, the child gets SIGTERM, and SIGKILL after the grace
 * period; with a grace of 0, SIGKILL at once.
 * @param graceSeconds default: 5
 * @param env environment of the watcher, which needs PATH at most; default: empty
 */
export function holdLeash(pid: number, graceSeconds?: number, env?: Record<string, string>): Leash
