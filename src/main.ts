import { runCli } from './cli/program.ts'
import { ignoreBrokenPipes } from './terminal/broken-pipes.ts'
import type { StopSignals } from './terminal/context.ts'

/** Runs one command of the command line in this process, and exits with its code. */
export async function main(args: readonly string[]): Promise<void> {
  ignoreBrokenPipes()
  const code = await runCli(args, {
    env: process.env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    stopSignals,
  })
  process.exit(code)
}

/** Under npm, Ctrl-C arrives twice: from the terminal and from npm. */
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
    // Replaces the handlers of the bootstrap.
    process.removeAllListeners(signal)
    process.on(signal, onSignal)
  }
  if (process.env.npm_lifecycle_event !== undefined) stopWithParent(stop)
  return { stop: stop.signal, force: force.signal }
}

/** Stops with npm: after a SIGKILL of npm, nothing else would stop this process. */
function stopWithParent(stop: AbortController): void {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) stop.abort()
  }, PARENT_CHECK_MS).unref()
}
