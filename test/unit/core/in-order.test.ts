import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inOrder } from '../../../src/operations/dead-letters/dead-letters.ts'

/** Yields values one by one, and notes each request. */
async function* valuesOf(values: readonly number[], asked: number[] = []): AsyncGenerator<number, void> {
  for (const value of values) {
    asked.push(value)
    yield value
  }
}

test('values of several sources come in one order, and equal ones by their source', async () => {
  const sources = [[1, 4, 4, 9], [], [2, 3, 10], [4]]
  const marked = sources.map(async function* (values, source) {
    for await (const value of valuesOf(values)) yield { value, source }
  })
  const found: string[] = []
  for await (const { value, source } of inOrder(marked, (a, b) => a.value < b.value))
    found.push(`${value} of ${source}`)
  assert.deepEqual(found, ['1 of 0', '2 of 2', '3 of 2', '4 of 0', '4 of 0', '4 of 3', '9 of 0', '10 of 2'])
})

test('a source is asked for its next value only when the one before is processed', async () => {
  const asked: number[] = []
  const merged = inOrder([valuesOf([1, 5], asked), valuesOf([2, 3], asked)], (a, b) => a < b)
  assert.deepEqual(asked, [])
  await merged.next()
  assert.deepEqual(asked, [1, 2])
  await merged.next()
  assert.deepEqual(asked, [1, 2, 5])
})
