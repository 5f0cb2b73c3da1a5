import { StringDecoder } from 'node:string_decoder'

/** Longest line that is kept whole, characters. Of longer ones the start is given. */
const LINE_MAX = 1_000

/** The lines of a stream, trimmed and without blank ones: those that have arrived together, together. */
export async function* linesIn(stream: AsyncIterable<Buffer | string>): AsyncGenerator<string[]> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + (typeof chunk === 'string' ? chunk : decoder.write(chunk))).split('\n')
    rest = lines.pop()!.slice(0, LINE_MAX)
    const whole = lines.map(tidy).filter((line) => line !== '')
    if (whole.length > 0) yield whole
  }
  const last = tidy(rest + decoder.end())
  if (last !== '') yield [last]
}

function tidy(line: string): string {
  return line.slice(0, LINE_MAX).trim()
}
