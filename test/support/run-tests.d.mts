/** See tests.mjs. */
export function together(files: readonly string[], dir: string): string[]
