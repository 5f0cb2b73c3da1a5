export interface Leash {
  /** The child has ended, or may go on alone. */
  release(): void
}

/** Ties a child to this process: when this process dies, the child gets SIGTERM, and SIGKILL five seconds later. */
export function holdLeash(pid: number): Leash
