/** Registers the end of a store that several tests of this process share. */
export function atProcessEnd(end: () => unknown): void

/** Stops the shared stores of a program that is no test. */
export function stopShared(): Promise<void>
