import { PassThrough, Readable } from 'node:stream'
import { runCli } from '../../src/cli/program.ts'
import type { CliContext } from '../../src/terminal/context.ts'

/** How a command is run. */
export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Parts of standard input, as they arrive. */
  readonly stdin?: Iterable<string | Buffer> | AsyncIterable<string | Buffer>
  /** Gets standard output while the command runs. */
  readonly onOutput?: (text: string) => void
  /** Gets standard error while the command runs. */
  readonly onError?: (text: string) => void
  /** Acts as Ctrl-C. */
  readonly stop?: AbortSignal
  /** Standard error is a terminal with this many columns. */
  readonly columns?: number
}

/** The result of a command. */
export interface CommandResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command of the command line in this process. */
export async function runCommand(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const stdout = collect(options.onOutput)
  const stderr = collect(options.onError)
  if (options.columns !== undefined) Object.assign(stderr.stream, { isTTY: true, columns: options.columns })
  const context = {
    // The ./data of a developer's own instance is no part of a test.
    env: { DEFAULT_DATA: 'off', ...options.env },
    stdin: Readable.from(options.stdin ?? [], { objectMode: false }),
    stdout: stdout.stream,
    stderr: stderr.stream,
    stopSignals: () => ({ stop: options.stop ?? new AbortController().signal, force: new AbortController().signal }),
  }
  const code = await runCli(args, context as unknown as CliContext)
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

function collect(onOutput: (text: string) => void = () => {}) {
  const stream = new PassThrough()
  let collected = ''
  stream.setEncoding('utf8').on('data', (text: string) => {
    collected += text
    onOutput(text)
  })
  // The last output is still in the stream when the command has ended.
  return { stream, text: () => collected + (stream.read() ?? '') }
}
