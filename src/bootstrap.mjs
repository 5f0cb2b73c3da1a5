/*
 * `npm start`, `npm run doctor` and the commands of a developer (package.json lists them) on a machine with only Node.js: installs
 * the packages, builds, then runs the program or a developer's command in this process. Plain JavaScript without packages.
 */

import { unmetRequirement } from './bootstrap/requirements.mjs'

/** Commands of the program; the others are a developer's. */
const PROGRAM_COMMANDS = ['start', 'doctor']
const MODULES = { bench: '../bench/main.ts', chaos: '../test/chaos/run/main.ts', mutants: '../test/mutants/main.ts' }
const COMMANDS = [...PROGRAM_COMMANDS, 'test', 'test:all', 'check', 'upgrade', ...Object.keys(MODULES)]

const [command, ...args] = process.argv.slice(2)
const unmet = unmetRequirement()

// Exit at once until the program sets its own handlers. The leash then ends npm.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(command === 'start' ? 0 : 130))

if (unmet !== undefined) {
  fail(unmet)
} else if (!COMMANDS.includes(command)) {
  const what = command === undefined ? 'a command is missing' : `there is no command ${JSON.stringify(command)}`
  fail(`${what}: it is one of ${COMMANDS.join(', ')}; ./ipid --help lists those of the program`, 2)
} else {
  try {
    const { ensurePackages } = await import('./bootstrap/packages.mjs')
    await ensurePackages({ withDev: !PROGRAM_COMMANDS.includes(command) })
    const { built, importBuilt } = await import('./bootstrap/build.mjs')
    if (PROGRAM_COMMANDS.includes(command)) {
      const { main } = await importBuilt('program', 'main.ts')
      await main([command, ...args])
    } else {
      await built()
      const { register } = await import('tsx/esm/api')
      register()
      await develop()
    }
  } catch (error) {
    fail(error.message)
  }
}

async function develop() {
  if (command === 'test' || command === 'test:all') {
    const { runTests } = await import('../test/support/run-tests.mjs')
    process.exitCode = await runTests(args, { all: command === 'test:all' })
    return
  }
  if (command === 'check') {
    const { runChecks } = await import('../test/support/run-tests.mjs')
    process.exitCode = await runChecks()
    return
  }
  if (command === 'upgrade') {
    const { runTests } = await import('../test/support/run-tests.mjs')
    const asked = args.some((arg) => !arg.startsWith('-')) ? [] : ['test/upgrade/data.ts', 'test/upgrade/rolling.ts']
    process.exitCode = await runTests([...asked, '--test-concurrency=1', ...args])
    return
  }
  if (command === 'chaos' || command === 'mutants') {
    const { pathWithRedis } = await import('../test/support/run-tests.mjs')
    process.env.PATH = await pathWithRedis()
  }
  const { main } = await import(MODULES[command])
  await main(args)
}

function fail(reason, exitCode = 1) {
  process.stderr.write(`ipid: ${reason}\n`)
  process.exitCode = exitCode
}
