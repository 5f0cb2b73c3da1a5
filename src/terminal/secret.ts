import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import type { CliContext } from './context.ts'
import { printLine, printPart } from './print.ts'

/**
 * Asks for a secret in the terminal, without showing what is typed.
 * @returns undefined when there is no terminal to ask in, or the user leaves the question with Ctrl-C or Ctrl-D
 */
export async function askSecret(
  question: string,
  { stdin, stderr }: Pick<CliContext, 'stdin' | 'stderr'>,
): Promise<string | undefined> {
  if (!stdin.isTTY || !stderr.isTTY) return undefined
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 })
  const left = new AbortController()
  // Ctrl-C closes it too.
  lines.once('close', () => left.abort())
  printPart(stderr, question)
  try {
    const [line] = (await once(lines, 'line', { signal: left.signal })) as [string]
    return line.trim()
  } catch {
    return undefined
  } finally {
    lines.close()
    printLine(stderr, '')
  }
}
