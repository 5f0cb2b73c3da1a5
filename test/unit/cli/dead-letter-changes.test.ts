import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { changeLetters } from '../../../src/operations/dead-letters/commands/dead-letter-output.ts'
import type { DeadLetters } from '../../../src/operations/dead-letters/dead-letters.ts'

test('a letter that cannot be changed during a read fails the command, not its process', async () => {
  const letters = {
    async *letters() {
      yield { id: '0:1-0' }
      for (let turn = 0; turn < 10; turn++) await nextTurn()
    },
    whyNot: () => undefined,
    retry: () => Promise.reject(new Error('the connection is lost')),
  }
  const changing = changeLetters(letters as unknown as DeadLetters, 'retry', {})
  await assert.rejects(changing, /the connection is lost/)
})
