import { setPriority } from 'node:os'
import { type Config, enrichCacheOf } from '../../config/config.ts'
import { compileFolder } from '../../enrichment/files/compiled/compile.ts'
import type { CliContext } from '../context.ts'

/** The machine belongs to the processes that serve. */
const LOWEST_PRIORITY = 19

/** Compiles what waits for it, for the processes that serve. Ends with its parent. */
export async function compileData(config: Config, { stdout }: CliContext): Promise<void> {
  process.on('disconnect', () => process.exit(1))
  setPriority(LOWEST_PRIORITY)
  const { enrichDir } = config
  if (enrichDir === undefined) return
  for await (const { path, about } of compileFolder(enrichDir, enrichCacheOf(config))) {
    stdout.write(`${JSON.stringify({ path, ...about })}\n`)
  }
}
