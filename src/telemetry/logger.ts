import { type DestinationStream, type LogFn, type Logger, pino } from 'pino'
import { plainWords } from '../run/cause-text.ts'
import { isPassing } from '../run/passing.ts'
import { visible, visibleLines } from '../run/visible-text.ts'
import { keyOf, type RecentProblems } from './problems.ts'

interface LoggerOptions {
  /** `trace` to `fatal`, or `silent`. */
  readonly level: string
  /** The process; part of every line. */
  readonly name: string
  /** Lines for people instead of JSON. */
  readonly pretty: boolean
  /** Receives every warning and error that is logged. */
  readonly problems?: RecentProblems
}

const STDERR = 2
const PROBLEM_LEVELS: Readonly<Record<number, 'warn' | 'error' | 'fatal'>> = { 40: 'warn', 50: 'error', 60: 'fatal' }

/**
 * A logger on standard error: one JSON object per line. Writes synchronously, so that a killed process has written
 * everything. A reader that has left does not end the process.
 */
export async function createLogger({ level, name, pretty, problems }: LoggerOptions): Promise<Logger> {
  const hooks = { logMethod: logging(problems, new RepeatedLines()) }
  const timestamp = pino.stdTimeFunctions.isoTime
  const settings = { level, name, base: { pid: process.pid }, timestamp, serializers: { err: plainError }, hooks }
  return pino(settings, await destinationOf(pretty))
}

async function destinationOf(pretty: boolean): Promise<DestinationStream> {
  if (pretty) {
    const { default: prettyStream } = await import('pino-pretty')
    const lines = prettyStream({ destination: STDERR, sync: true, colorize: true, ignore: 'pid', singleLine: true })
    return { write: (line) => lines.write(withoutControls(line)) }
  }
  const stderr = pino.destination({ dest: STDERR, sync: true })
  stderr.on('error', () => {})
  return stderr
}

/** Removes control characters from the texts of a JSON line, because names and messages may come from outside. */
export function withoutControls(line: string): string {
  const shown = (key: string, value: unknown) => {
    if (typeof value === 'string') return key === 'stack' ? visibleLines(value) : visible(value)
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isMap ? Object.fromEntries(Object.entries(value).map(([name, member]) => [visible(name), member])) : value
  }
  return `${JSON.stringify(JSON.parse(line, shown))}\n`
}

/** Remembers warnings and errors, and writes those that a fault repeats only now and then. */
function logging(problems: RecentProblems | undefined, repeated: RepeatedLines) {
  return function (this: Logger, args: Parameters<LogFn>, method: LogFn, level: number): void {
    const found = PROBLEM_LEVELS[level]
    if (found === undefined) {
      method.apply(this, args)
      return
    }
    const message = messageOf(args)
    problems?.note(found, message, Date.now(), isPassing(args[0]))
    const sumUp = (more: number) => {
      method.apply(this, [{ repeated: more }, message] as unknown as Parameters<LogFn>)
    }
    if (!isRepeatable(args[0]) || repeated.isNew(keyOf(found, message), sumUp)) method.apply(this, args)
  }
}

/** Repeated lines of a store's fault are about waits and errors. Other lines name their subject, and each counts alone. */
function isRepeatable(facts: unknown): boolean {
  return isPassing(facts) || (typeof facts === 'object' && facts !== null && 'err' in facts)
}

function plainError(error: Error): object {
  const { message, stack, ...facts } = pino.stdSerializers.err(error)
  const plain = plainWords(message)
  return { ...facts, message: plain, stack: plain === message ? stack : stack.replace(message, plain) }
}

function messageOf([first, second]: readonly unknown[]): string {
  if (typeof first === 'string') return first
  const { err, msg } = (first ?? {}) as { err?: { message?: string }; msg?: string }
  const text = typeof second === 'string' ? second : (msg ?? '')
  return [text, err?.message && plainWords(err.message)].filter(Boolean).join(': ')
}

/** A line is written once in this time, however often it is logged. */
const EVERY_MS = 60_000
const KEYS_MAX = 500

interface Repeated {
  /** Occurrences that were not written. */
  more: number
  readonly timer: NodeJS.Timeout
}

/**
 * Bounds lines that a fault repeats: the first is written as it is, and after a minute one line says how many came in between. An
 * outage of hours leaves a line a minute for each kind.
 */
export class RepeatedLines {
  readonly #known = new Map<string, Repeated>()
  readonly #everyMs: number

  constructor(everyMs = EVERY_MS) {
    this.#everyMs = everyMs
  }

  /**
   * Whether to write a line now.
   * @param sumUp writes a line for `more` that were left out
   */
  isNew(key: string, sumUp: (more: number) => void): boolean {
    const known = this.#known.get(key)
    if (known !== undefined) {
      known.more++
      return false
    }
    this.#open(key, sumUp)
    return true
  }

  #open(key: string, sumUp: (more: number) => void): void {
    if (this.#known.size >= KEYS_MAX) this.#forget(this.#known.keys().next().value!)
    const timer = setTimeout(() => {
      const more = this.#known.get(key)?.more ?? 0
      this.#known.delete(key)
      if (more === 0) return
      sumUp(more)
      this.#open(key, sumUp)
    }, this.#everyMs).unref()
    this.#known.set(key, { more: 0, timer })
  }

  #forget(key: string): void {
    clearTimeout(this.#known.get(key)?.timer)
    this.#known.delete(key)
  }
}
