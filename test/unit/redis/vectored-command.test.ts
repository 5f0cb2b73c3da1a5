import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VectoredCommand } from '../../../src/stores/redis/scripts.ts'

/** A socket that keeps the bytes written to it. */
function listening() {
  const parts: (string | Buffer)[] = []
  let corked = 0
  const socket = {
    cork: () => void corked++,
    uncork: () => void corked--,
    write(part: string | Buffer) {
      assert.ok(corked > 0, 'writes of this turn are sent together, at its end')
      parts.push(part)
    },
  }
  return { socket, parts, isCorked: () => corked > 0 }
}

function text(parts: readonly (string | Buffer)[]): string {
  return parts.map((part) => part.toString('latin1')).join('')
}

test('bytes go to the socket unchanged, within the rest of the command', async () => {
  const { socket, parts, isCorked } = listening()
  const bytes = Buffer.from([0, 255, 13, 10, 36])
  const command = new VectoredCommand('XADD', ['s', '*', 'r', bytes, 'n', 12, bytes])
  const rest = command.toWritable(socket)
  assert.equal(parts.filter((part) => part === bytes).length, 2, 'they are not copied')
  const sent = '\0\u00ff\r\n$'
  const wanted = `*8\r\n$4\r\nXADD\r\n$1\r\ns\r\n$1\r\n*\r\n$1\r\nr\r\n$5\r\n${sent}\r\n$1\r\nn\r\n$2\r\n12\r\n$5\r\n${sent}\r\n`
  assert.equal(text([...parts, rest]), wanted)
  assert.ok(isCorked())
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(!isCorked())
})

test('texts are counted in bytes, and an empty Buffer is an empty text', () => {
  const { socket, parts } = listening()
  const rest = new VectoredCommand('SET', ['schlüssel', Buffer.alloc(0)]).toWritable(socket)
  assert.deepEqual(parts, [])
  assert.equal(rest, '*3\r\n$3\r\nSET\r\n$10\r\nschlüssel\r\n$0\r\n\r\n')
})
