import { Command } from 'commander'

/** `ipid compile`: what the first start would compile, for an image whose files cannot be written to. Not for people. */
export function compileCommand(): Command {
  return new Command('compile').action(async () => {
    const [{ compiledProgram }, { compilePages }] = await Promise.all([
      import('../../bootstrap/program.mjs'),
      import('../../dashboard/server/page-files.ts'),
    ])
    if ((await compiledProgram()) === undefined) throw new Error('the program cannot be compiled here')
    await compilePages()
  })
}
