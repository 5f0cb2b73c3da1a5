import { runCli } from './cli/program.ts'
import type { StopSignals } from './terminal/context.ts'

/** Runs one command of the command line in this process, and exits with its code. */
export async function main(args: readonly string[]): Promise<void> {
  // A reader that goes away (`ipid sql … | head`) is no error of ours.
  process.stdout.on('error', ignoreBrokenPipe)
  process.stderr.on('error', ignoreBrokenPipe)
  const code = await runCli(args, {
    env: process.env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    stopSignals,
    roleModule: () => import('./app.ts'),
  })
  process.exit(code)
}

/** Ctrl-C in a terminal arrives twice under npm, which passes on what its child got as well. */
const SAME_SIGNAL_MS = 500
const PARENT_CHECK_MS = 1_000

function stopSignals(): StopSignals {
  const stop = new AbortController()
  const force = new AbortController()
  let firstAtMs: number | undefined
  const onSignal = () => {
    firstAtMs ??= performance.now()
    stop.abort()
    if (performance.now() - firstAtMs > SAME_SIGNAL_MS) force.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // What held the place during the start gives way.
    process.removeAllListeners(signal)
    process.on(signal, onSignal)
  }
  if (process.env.npm_lifecycle_event !== undefined) stopWithParent(stop)
  return { stop: stop.signal, force: force.signal }
}

/** Started by npm: when somebody kills npm with -9, nobody is left who could stop this process. */
function stopWithParent(stop: AbortController): void {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) stop.abort()
  }, PARENT_CHECK_MS).unref()
}

function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}
