import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withRevision } from '../../../src/embedded/clickhouse/native-revision.ts'
import { nativeType } from '../../../src/embedded/clickhouse/native-types.ts'

const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)])
const block = (rows: number, ...columns: [name: string, type: string, values: Buffer][]) =>
  Buffer.concat([
    Buffer.from([columns.length, rows]),
    ...columns.flatMap(([name, type, values]) => [text(name), text(type), values]),
  ])
const INFO = '010002ffffffff00'

async function revised(bytes: Buffer, revision: number, types: string[] = [], chunkBytes = bytes.length) {
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
  }
  let hex = ''
  for await (const chunk of withRevision(chunks(), revision, types)) hex += Buffer.from(chunk).toString('hex')
  return hex
}

test('a revision adds the fields of ClickHouse: the info of a block, and a byte per column', async () => {
  const one = block(1, ['check', 'UInt8', Buffer.from([1])])
  assert.equal(
    await revised(one, 54_405),
    `${INFO}0101${text('check').toString('hex')}${text('UInt8').toString('hex')}01`,
  )
  assert.equal(
    await revised(one, 54_454),
    `${INFO}0101${text('check').toString('hex')}${text('UInt8').toString('hex')}0001`,
  )
  const late = await revised(one, 54_480)
  assert.ok(late.startsWith('010002ffffffff0300000101'), late)
  assert.equal(await revised(Buffer.alloc(0), 54_480), '')
})

test('the result is the same wherever it is cut into chunks', async () => {
  const strings = Buffer.concat([text('a'), text(''), Buffer.from([0xc8, 1]), Buffer.alloc(200, 'x')])
  const two = block(3, ['s', 'String', strings], ['d', 'DateTime', Buffer.alloc(12)])
  const empty = block(0, ['s', 'String', Buffer.alloc(0)], ['d', 'DateTime', Buffer.alloc(0)])
  const bytes = Buffer.concat([two, empty, two])
  const types = ['String', "DateTime('Asia/Tokyo')"]
  const whole = await revised(bytes, 54_460, types)
  assert.equal(whole.length / 2, bytes.length + 3 * (8 + 2 + "('Asia/Tokyo')".length))
  for (const chunkBytes of [1, 2, 7, 100]) assert.equal(await revised(bytes, 54_460, types, chunkBytes), whole)
})

test('a result that ends within a block is an error', async () => {
  const one = block(1, ['check', 'UInt32', Buffer.from([1])])
  await assert.rejects(revised(one, 54_405), /ends within a block/)
})

test("types are read under the engine's names, and unknown layouts are refused by name", () => {
  assert.deepEqual(nativeType("Tuple(a Enum8('x, y' = 1, 'it\\'s)' = 2), `b c` Array(Decimal(20, 3)), UInt8)"), {
    kind: 'tuple',
    elements: [
      { kind: 'fixed', bytes: 1 },
      { kind: 'array', inner: { kind: 'fixed', bytes: 16 } },
      { kind: 'fixed', bytes: 1 },
    ],
  })
  for (const type of [
    'AggregateFunction(sum, UInt8)',
    'Dynamic',
    'JSON',
    'Variant(String, UInt8)',
    'Array(JSON)',
    '',
    '(',
  ]) {
    assert.throws(() => nativeType(type), /no client_protocol_version for FORMAT Native with a column of type/, type)
  }
  assert.throws(() => nativeType(`${'Array('.repeat(1_000)}UInt8${')'.repeat(1_000)}`), /column of type/)
})
