import type { RewrittenFiles } from '../ports.ts'

const TEXTS: Readonly<Record<RewrittenFiles, string>> = {
  rewritten: 'rewritten',
  none: 'Redis has no files',
  refused: 'Redis refused to rewrite them',
}

/** The result of rewriting Redis' files, for people. */
export function filesText(files: RewrittenFiles): string {
  return TEXTS[files]
}
