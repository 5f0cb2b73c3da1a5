/** Registers what stops a store that several tests of this process share. */
export function atProcessEnd(end: () => unknown): void
