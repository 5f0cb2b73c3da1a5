/* Runs the TypeScript client for tests: reads what to do as JSON from standard input, and prints each end of an event as a line of JSON. */
import { text } from 'node:stream/consumers'
import { Ipid } from '../../../src/client/typescript/index.ts'
import { type DriverTask, endsOf } from './task.ts'

const task = JSON.parse(await text(process.stdin)) as DriverTask
// Pipes are written synchronously: nothing is left in a buffer when the process ends.
const say = (line: object) => void process.stdout.write(`${JSON.stringify(line)}\n`)
const client = new Ipid({ key: task.key, url: task.url, ...task.options, ...endsOf(say) })
for (const [i, event] of task.events.entries()) {
  say({ taken: client.track(event) })
  if (task.pauseEvery > 0 && i % task.pauseEvery === 0) await new Promise((resolve) => setTimeout(resolve, 20))
}
if (task.end === 'close') await client.close({ timeoutMs: task.closeMs })
if (task.end === 'exit') process.exit(0)
