/* Runs the TypeScript client for tests: reads what to do as JSON from standard input, and prints each end of an event as a line of JSON. */
import { writeSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { Ipid } from '../../../src/client/typescript/index.ts'
import { type DriverTask, endsOf } from './task.ts'

const task = JSON.parse(await text(process.stdin)) as DriverTask
/** Waits while the reader is slow: process.stdout would keep what it has no room for, and lose it when the process ends. */
function say(line: object): void {
  let rest = Buffer.from(`${JSON.stringify(line)}\n`)
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
  }
}

const client = new Ipid({ key: task.key, url: task.url, ...task.options, ...endsOf(say) })
for (const [i, event] of task.events.entries()) {
  say({ taken: client.track(event) })
  if (task.pauseEvery > 0 && i % task.pauseEvery === 0) await new Promise((resolve) => setTimeout(resolve, 20))
}
if (task.end === 'close') await client.close({ timeoutMs: task.closeMs })
if (task.end === 'exit') process.exit(0)
