import type { RewrittenFiles } from '../ports.ts'

const TEXTS: Readonly<Record<RewrittenFiles, string>> = {
  rewritten: 'written anew',
  none: 'it keeps none',
  refused: 'it refused to write them anew',
}

/** What became of Redis' files, for people. */
export function filesText(files: RewrittenFiles): string {
  return TEXTS[files]
}
