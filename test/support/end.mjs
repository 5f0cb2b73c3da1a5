import { after } from 'node:test'

/*
 * Imported before each test file. A process whose tests are over ends: an open handle of a failed assertion, or of a test that
 * passed, would hold up the whole run until its time-out.
 */

/** After the last test; `after` hooks stop instances meanwhile. */
const END_WITHIN_MS = Number(process.env.TEST_END_MS ?? 20_000)

/** Node runs a hook that is registered inside a test after that test; these run after the last test of the process. */
const ends = []

/**
 * Registers what stops a store that several tests share.
 * @param {() => unknown} end
 */
export function atProcessEnd(end) {
  ends.push(end)
}

if (/\.test\.\w+$|\.together\.mjs$/.test(process.argv[1] ?? '')) {
  // Else a child that is forked runs the hook for TypeScript as well: 0.5 s of CPU for each part of an instance.
  process.execArgv = []
  after(async () => {
    const end = () => {
      process.stderr.write(`still open after the last test: ${process.getActiveResourcesInfo().join(', ')}\n`)
      process.exit(1)
    }
    setTimeout(end, END_WITHIN_MS).unref()
    await Promise.all(ends.map((stop) => stop()))
  })
}
