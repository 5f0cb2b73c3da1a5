import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { printJson, printLine, printPairs, printTable } from '../../../src/terminal/print.ts'

const SRC = new URL('../../../src/', import.meta.url)
const EVIL = 'a\u001b]0;owned\u0007\r\nb\u009b31m\u202ec'
const SHOWN = 'a\\u001b]0;owned\\u0007\\r\\nb\\u009b31m\\u202ec'

/** The text that a stream receives. */
function sink() {
  const written: string[] = []
  const write = (chunk: string | Uint8Array) => written.push(Buffer.from(chunk as string).toString()) > 0
  return { out: { write } as unknown as NodeJS.WritableStream, text: () => written.join('') }
}

test('text from outside stays on one line without control characters; JSON keeps it unchanged', () => {
  const { out, text } = sink()
  printLine(out, EVIL)
  printPairs(out, [[EVIL, EVIL]])
  printTable(out, ['ID'], [[EVIL]])
  assert.equal(text(), `${SHOWN}\n${SHOWN}   ${SHOWN}\nID\n${SHOWN}\n`)
  const json = sink()
  printJson(json.out, { id: EVIL })
  assert.deepEqual(JSON.parse(json.text()), { id: EVIL })
})

test('JSON has no terminal control characters, and is the same value', () => {
  const { out, text } = sink()
  printJson(out, { [EVIL]: 'c1 \u009b31m, delete \u007f, turned \u202e' })
  assert.match(text(), /^[\x20-\x7e]+\n$/)
  assert.deepEqual(JSON.parse(text()), { [EVIL]: 'c1 \u009b31m, delete \u007f, turned \u202e' })
})

test('wide and combining characters have their width on a terminal', () => {
  const { out, text } = sink()
  printTable(
    out,
    ['A', 'B'],
    [
      ['日本', 'x'],
      ['e\u0301', 'x'],
      ['abcd', 'x'],
    ],
  )
  assert.equal(text(), 'A      B\n日本   x\ne\u0301      x\nabcd   x\n')
})

test('no command writes by itself: all output goes through one file', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /(?:^(?:cli|terminal)|\/commands)\/.*\.ts$/.test(name),
  )
  assert.ok(files.length > 50)
  const writes = files.filter((name) => {
    const text = readFileSync(new URL(name, SRC), 'utf8')
    return /\b(?:std)?(?:out|err)\??\.(?:write|end)\(|\bconsole\.|\bwriteSync\(|\.pipe\(/.test(text)
  })
  assert.deepEqual(writes, ['terminal/print.ts'])
})

test('a table has any number of rows', () => {
  const { out, text } = sink()
  printTable(
    out,
    ['ID'],
    Array.from({ length: 200_000 }, (_, i) => [`${i}`]),
  )
  assert.equal(text().split('\n').length, 200_002)
})
