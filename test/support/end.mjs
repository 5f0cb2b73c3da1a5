import { after } from 'node:test'

/*
 * Imported before each test file. It ends the process after its tests: a handle that a test left open would delay the
 * whole run until its time-out.
 */

/** After the last test; `after` hooks stop instances meanwhile. */
const END_WITHIN_MS = Number(process.env.TEST_END_MS ?? 20_000)

/** Node runs a hook that is registered inside a test after that test; these run after the last test of the process. */
const ends = []

/**
 * Registers the function that stops a store shared by several tests.
 * @param {() => unknown} end
 */
export function atProcessEnd(end) {
  ends.push(end)
}

/** Stops the shared stores of a program that is no test. */
export async function stopShared() {
  await Promise.all(ends.splice(0).map((stop) => stop()))
}

if (/\.test\.\w+$|\.together\.mjs$/.test(process.argv[1] ?? '')) {
  // Otherwise a forked child runs the hook for TypeScript as well: 0.5 s of CPU for each process of an instance.
  process.execArgv = []
  after(async () => {
    const end = () => {
      process.stderr.write(`still open after the last test: ${process.getActiveResourcesInfo().join(', ')}\n`)
      process.exit(1)
    }
    setTimeout(end, END_WITHIN_MS).unref()
    await stopShared()
  })
}
