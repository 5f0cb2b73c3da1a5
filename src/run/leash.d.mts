interface Leash {
  /** The child has ended, or may go on alone. */
  release(): void
}

/**
 * Ties a child to this process: when this process dies, the child gets SIGTERM, and SIGKILL if it is still there after
 * the grace; with a grace of 0, SIGKILL at once.
 * @param graceSeconds 5 when not given
 * @param env of the watcher, which wants PATH at most; none when not given
 */
export function holdLeash(pid: number, graceSeconds?: number, env?: Record<string, string>): Leash
