import { after } from 'node:test'

/*
 * Imported before each test file. A file whose tests are over ends: what an assertion that failed left running, or a test that
 * passed, would hold up the whole run until its time-out.
 */

/** Behind the last test; the file's own `after` hooks stop instances meanwhile. */
const END_WITHIN_MS = Number(process.env.TEST_END_MS ?? 20_000)

// What a test forks gets the same imports.
if (/\.test\.\w+$|\.together\.mjs$/.test(process.argv[1] ?? '')) {
  after(() => {
    const end = () => {
      process.stderr.write(`still open behind the last test: ${process.getActiveResourcesInfo().join(', ')}\n`)
      process.exit(1)
    }
    setTimeout(end, END_WITHIN_MS).unref()
  })
}
