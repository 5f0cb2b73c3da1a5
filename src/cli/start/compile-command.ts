import { Command } from 'commander'

/** `ipid compile`: builds what the first start would build, for an image with read-only files. Hidden from help. */
export function compileCommand(): Command {
  return new Command('compile').action(async () => {
    const { built } = await import('../../bootstrap/build.mjs')
    const dir = await built()
    if (!dir.includes('node_modules')) throw new Error('node_modules/.cache cannot be written, so nothing is kept')
  })
}
