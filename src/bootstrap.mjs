/*
 * `npm start`, `npm test`, `npm run check`, `bench`, `chaos` and `mutants` on a machine that has Node.js and nothing else: brings
 * the packages, then hands over to the command line, or to what the workshop has, in this very process. Plain JavaScript
 * without packages.
 */

const NODE_MIN = [20, 12]

const [command, ...args] = process.argv.slice(2)
const [major, minor] = process.versions.node.split('.').map(Number)
const isOld = major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1])

// Until the command line takes over there is nothing to finish: what runs here is ended by `onExit`.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(command === 'start' ? 0 : 130))

if (isOld) {
  fail(`needs Node.js ${NODE_MIN.join('.')} or newer; this is ${process.versions.node}`)
} else if (process.platform !== 'linux' && process.platform !== 'darwin') {
  fail(`runs on Linux and macOS; this is ${process.platform} (on Windows: in WSL)`)
} else {
  try {
    const { ensurePackages } = await import('./bootstrap/packages.mjs')
    await ensurePackages({ withDev: command !== 'start' })
    const { bundlePackages } = await import('./bootstrap/bundle.mjs')
    await bundlePackages()
    if (command === 'start') {
      const { importSource } = await import('./bootstrap/program.mjs')
      const { main } = await importSource('main.ts')
      await main(['start', ...args])
    } else if (command === 'check') {
      const { runChecks } = await import('./bootstrap/checks.mjs')
      process.exitCode = await runChecks()
    } else if (command === 'bench') {
      const { register } = await import('tsx/esm/api')
      register()
      const { main } = await import('../bench/main.ts')
      await main(args)
    } else if (command === 'chaos' || command === 'mutants') {
      const { register } = await import('tsx/esm/api')
      register()
      const { pathWithRedis } = await import('../test/support/run-tests.mjs')
      process.env.PATH = await pathWithRedis()
      const { main } = await import(command === 'chaos' ? '../test/chaos/run/main.ts' : '../test/mutants/main.ts')
      await main(args)
    } else {
      const { register } = await import('tsx/esm/api')
      register()
      const { runTests } = await import('../test/support/run-tests.mjs')
      process.exitCode = await runTests(args)
    }
  } catch (error) {
    fail(error.message)
  }
}

function fail(reason) {
  process.stderr.write(`ipid: ${reason}\n`)
  process.exitCode = 1
}
