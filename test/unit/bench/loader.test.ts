import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { Connection } from '../../../bench/loader/connection.ts'
import { requestTemplates } from '../../../bench/loader/template.ts'

test('requests take bodies and keys in turn, with their number where the mark stands', () => {
  const templates = requestTemplates({
    url: 'http://127.0.0.1:1',
    path: '/p',
    keys: ['k0', 'k1'],
    bodies: ['{"a":"@@@@@@@@@@-@@@@@@@@@@"}', '{}', '{"c":1}'],
  })
  const sent = [0, 1, 5, 12].map((number) => String(templates.bytes(number)))
  assert.match(
    sent[0]!,
    /^POST \/p HTTP\/1\.1\r\n.*content-length: 29\r\nx-api-key: k0\r\n\r\n\{"a":"0000000000-0000000000"\}$/s,
  )
  assert.match(sent[1]!, /x-api-key: k1\r\n\r\n\{\}$/)
  assert.match(sent[2]!, /x-api-key: k1\r\n\r\n\{"c":1\}$/)
  assert.match(sent[3]!, /x-api-key: k0\r\n\r\n\{"a":"0000000012-0000000012"\}$/)
})

test('bytes that are on their way stay as they are, and those of an answered request carry the next number', () => {
  const templates = requestTemplates({
    url: 'http://127.0.0.1:1',
    path: '/p',
    keys: ['k'],
    bodies: ['{"a":"@@@@@@@@@@"}'],
  })
  const [first, second] = [templates.bytes(1), templates.bytes(2)]
  assert.match(String(first), /0000000001/)
  templates.answered(1, first)
  const third = templates.bytes(3)
  assert.equal(third, first)
  assert.match(String(third), /0000000003/)
  assert.match(String(second), /0000000002/)
})

test('answers end where their length or their last chunk says, however they arrive', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const accepted = once(server, 'connection')
  const connection = await Connection.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const [peer] = (await accepted) as [Socket]
  const answers = [
    'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello',
    'HTTP/1.1 429 Too Many Requests\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    'HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n',
  ]
  for (const answer of answers) {
    // A byte at a time is every way to cut it.
    const status = new Promise<number>((resolve) => connection.send(Buffer.from('ask'), resolve))
    await once(peer, 'data')
    for (const byte of answer) await new Promise((sent) => peer.write(byte, sent))
    assert.equal(await status, Number(answer.slice(9, 12)))
  }
  const broken = new Promise<number>((resolve) => connection.send(Buffer.from('ask'), resolve))
  await once(peer, 'data')
  peer.destroy()
  assert.equal(await broken, 0)
})
