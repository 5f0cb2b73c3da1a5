import { type Logger, pino } from 'pino'

export interface LoggerOptions {
  /** `trace` to `fatal`, or `silent`. */
  readonly level: string
  /** Which process it is; stands in every line. */
  readonly name: string
  /** Lines for people instead of JSON. */
  readonly pretty: boolean
}

const STDERR = 2

/** A logger on standard error: one JSON object a line. Writes at once, so that a killed process has said everything. */
export async function createLogger({ level, name, pretty }: LoggerOptions): Promise<Logger> {
  const settings = { level, name, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }
  if (!pretty) return pino(settings, pino.destination({ dest: STDERR, sync: true }))
  const { default: prettyStream } = await import('pino-pretty')
  const stream = prettyStream({ destination: STDERR, sync: true, colorize: true, ignore: 'pid', singleLine: true })
  return pino(settings, stream)
}
