import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A child process that ends with this one, and sends one message when it is ready or done. */
interface Child<T> {
  readonly pid: number
  readonly said: Promise<T>
  stop(): Promise<void>
}

/**
 * Starts a child process.
 * @param module a file of bench/; it gets `input` with `receiveInput`, and answers with `send`
 */
export function startChild<T>(module: string, input: object): Child<T> {
  const path = fileURLToPath(new URL(`../${module}`, import.meta.url))
  const child = fork(path, { execArgv: ['--import', 'tsx'], serialization: 'advanced', detached: true })
  const gone = once(child, 'exit')
  const said = new Promise<T>((resolve, reject) => {
    child.once('message', (message) => resolve(message as T))
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new Error(`${module} ended with ${signal ?? code}`)))
  })
  said.catch(() => {})
  child.send(input)
  return {
    pid: child.pid!,
    said,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await gone
    },
  }
}

/** In the child: receives its input. The child exits with its parent. */
export async function receiveInput<T>(): Promise<T> {
  process.on('disconnect', () => process.exit(0))
  const [message] = await once(process, 'message')
  return message as T
}

/** In the child: sends its message to the parent. */
export function send(message: object): void {
  process.send?.(message)
}
