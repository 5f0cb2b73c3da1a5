import type { Cleaner } from './cleaner.ts'

/** Texts of a line whose values are ipid's own words. All others are left out, because they may be a visitor's or a tenant's. */
const OWN_WORDS = new Set([
  ...[
    'level',
    'name',
    'time',
    'process',
    'store',
    'group',
    'lane',
    'stream',
    'role',
    'state',
    'signal',
    'code',
    'type',
  ],
  ...['version', 'engine', 'status', 'method', 'request_id', 'job_id', 'limit', 'step', 'table'],
])
/** Texts that may quote data. */
const MESSAGES = new Set(['msg', 'message', 'reason', 'warning', 'error', 'problem'])
/** Places in the code, without the message in front. */
const FRAME = /^ +at /

/** One line of a log, as JSON or as people read it, without anything of tenants and visitors. */
export function cleanLogLine(line: string, cleaner: Cleaner): string {
  const start = line.indexOf('{')
  const facts = start < 0 ? undefined : parsed(line.slice(start))
  if (facts === undefined) return cleaner.message(line)
  return JSON.stringify(
    cleaner.json(facts, (text, key) => {
      if (MESSAGES.has(key)) return cleaner.message(text)
      if (key === 'stack')
        return text
          .split('\n')
          .filter((frame) => FRAME.test(frame))
          .map((frame) => cleaner.text(frame))
          .join('\n')
      return OWN_WORDS.has(key) ? cleaner.text(text) : '<text>'
    }),
  )
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
