import { test } from 'node:test'
import { TestSite } from './site.ts'

/* For the test of the test runner: an instance, and a test that does not end by itself. */
test('never ends', async (t) => {
  const ready = await new TestSite(t).start().ready()
  process.stdout.write(`ready ${ready.pid}\n`)
  await new Promise(() => setInterval(() => {}, 60_000))
})
