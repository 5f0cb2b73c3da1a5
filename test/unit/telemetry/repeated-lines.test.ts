import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainWords } from '../../../src/run/cause-text.ts'
import { RepeatedLines } from '../../../src/telemetry/logger.ts'

test('a line that a fault repeats is written once a minute, with how often it came', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const lines = new RepeatedLines()
  const sums: string[] = []
  const log = (key: string) => lines.isNew(key, (more) => sums.push(`${key} ${more}`))
  assert.deepEqual([log('a'), log('a'), log('a'), log('b')], [true, false, false, true])
  t.mock.timers.tick(60_000)
  assert.deepEqual(sums, ['a 2'])
  assert.deepEqual([log('a'), log('b')], [false, true])
  t.mock.timers.tick(60_000)
  assert.deepEqual(sums, ['a 2', 'a 1'])
  t.mock.timers.tick(60_000)
  assert.equal(log('a'), true, 'it was quiet for a minute')
})

test('errors of libraries are translated for people', () => {
  const full = 'MISCONF Errors writing to the AOF file: No space left on device'
  assert.equal(plainWords(full), 'the disk is full: Redis refuses writes')
  assert.equal(
    plainWords('ENOSPC: no space left on device, write'),
    'the disk is full: ENOSPC: no space left on device, write',
  )
  assert.equal(plainWords('Only 0 bytes are free in /data.'), 'the disk is full: Only 0 bytes are free in /data.')
  const retries =
    'Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest" option for details.'
  assert.equal(plainWords(retries), 'the connection to Redis was lost')
  assert.equal(plainWords('connect ECONNREFUSED 127.0.0.1:6379'), 'connect ECONNREFUSED 127.0.0.1:6379')
})
