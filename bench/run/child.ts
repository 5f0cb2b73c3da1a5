import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A process of ours, which ends with this one, and says one thing when it is ready or done. */
export interface Child<T> {
  readonly pid: number
  readonly said: Promise<T>
  stop(): Promise<void>
}

/**
 * Starts one.
 * @param module a file of bench/; it takes what it is told by `told`, and answers by `process.send`
 */
export function startChild<T>(module: string, told: object): Child<T> {
  const path = fileURLToPath(new URL(`../${module}`, import.meta.url))
  const child = fork(path, { execArgv: ['--import', 'tsx'], serialization: 'advanced', detached: true })
  const gone = once(child, 'exit')
  const said = new Promise<T>((resolve, reject) => {
    child.once('message', (message) => resolve(message as T))
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new Error(`${module} ended with ${signal ?? code}`)))
  })
  said.catch(() => {})
  child.send(told)
  return {
    pid: child.pid!,
    said,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await gone
    },
  }
}

/** In the child: what it is told. It ends when its parent does. */
export async function told<T>(): Promise<T> {
  process.on('disconnect', () => process.exit(0))
  const [message] = await once(process, 'message')
  return message as T
}

/** In the child: tells the parent. */
export function tell(message: object): void {
  process.send?.(message)
}
