import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { askSecret } from '../../../src/terminal/secret.ts'
import { PAGES, readDocument } from '../../support/documents.ts'

/** A terminal in which a test types. */
function terminal() {
  let shown = ''
  const modes: boolean[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (raw: boolean) => void modes.push(raw) })
  const stderr = Object.assign(new PassThrough(), { isTTY: true })
  stderr.on('data', (bytes) => {
    shown += String(bytes)
  })
  const streams = { stdin: stdin as unknown as NodeJS.ReadStream, stderr: stderr as unknown as NodeJS.WriteStream }
  return { stdin, modes, streams, shown: () => shown }
}

test('a secret is asked for, may be corrected, and is not shown', async () => {
  const { stdin, modes, streams, shown } = terminal()
  const answer = askSecret('API key: ', streams)
  stdin.write('ipid_12\u007f3\r')
  assert.equal(await answer, 'ipid_13')
  assert.equal(shown(), 'API key: \n')
  assert.deepEqual(modes, [true, false])
})

test('Ctrl-C, Ctrl-D and a missing terminal return no secret', async () => {
  for (const typed of ['abc\u0003', '\u0004']) {
    const { stdin, modes, streams } = terminal()
    const answer = askSecret('API key: ', streams)
    stdin.write(typed)
    assert.equal(await answer, undefined)
    assert.equal(modes.at(-1), false)
  }
  const { stdin, streams, shown } = terminal()
  stdin.isTTY = false
  assert.equal(await askSecret('API key: ', streams), undefined)
  assert.equal(shown(), '')
})

test('no example gives a key to a command as an argument', () => {
  for (const page of PAGES) assert.doesNotMatch(readDocument(page), /--api-key[ =]|\$KEY\b/, page)
})
