import { PassThrough } from 'node:stream'

/** The output of a command. Without an encoding, `read` of Node.js 26 returns the first chunk only. */
export function printed(print: (out: NodeJS.WritableStream) => void): string {
  const out = new PassThrough({ encoding: 'utf8' })
  print(out)
  return out.read() ?? ''
}
