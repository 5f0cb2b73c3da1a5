import { type LoadSpec, REQUEST_NUMBER } from './loader.ts'

/** Prepared bytes of requests, with their numbers filled in. */
interface RequestTemplates {
  /** The bytes of a request. */
  bytes(number: number): Buffer
  /** Recycles the bytes of an answered request, because garbage collection would be the largest cost. */
  answered(number: number, bytes: Buffer): void
}

interface Template {
  readonly text: Buffer
  readonly at: readonly number[]
  /** Copies that are not in flight. */
  readonly spare: Buffer[]
}

export function requestTemplates({
  url,
  path,
  keys,
  bodies,
}: Pick<LoadSpec, 'url' | 'path' | 'keys' | 'bodies'>): RequestTemplates {
  const { host } = new URL(url)
  const turns = leastCommonMultiple(bodies.length, keys.length)
  const templates = Array.from({ length: turns }, (_, turn): Template => {
    const body = bodies[turn % bodies.length]!
    const head =
      `POST ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nx-api-key: ${keys[turn % keys.length]}\r\n\r\n`
    const text = Buffer.from(head + body)
    const at: number[] = []
    for (let from = text.indexOf(REQUEST_NUMBER); from >= 0; from = text.indexOf(REQUEST_NUMBER, from + 1))
      at.push(from)
    return { text, at, spare: [] }
  })
  const digits = Buffer.alloc(REQUEST_NUMBER.length)
  return {
    bytes(number) {
      const { text, at, spare } = templates[number % turns]!
      if (at.length === 0) return text
      digits.write(String(number).padStart(REQUEST_NUMBER.length, '0'), 'latin1')
      // The bytes of the previous turn may still be in flight.
      const copy = spare.pop() ?? Buffer.from(text)
      for (const position of at) copy.set(digits, position)
      return copy
    },
    answered(number, bytes) {
      const { at, spare } = templates[number % turns]!
      if (at.length > 0) spare.push(bytes)
    },
  }
}

function leastCommonMultiple(a: number, b: number): number {
  const divisor = (x: number, y: number): number => (y === 0 ? x : divisor(y, x % y))
  return (a * b) / divisor(a, b)
}
