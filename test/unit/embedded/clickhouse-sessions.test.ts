import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Session, type SessionRequest, Sessions } from '../../../src/embedded/clickhouse/sessions.ts'

function makeSessions(sessionsMax: number) {
  const log: string[] = []
  let opened = 0
  const sessions = new Sessions({
    sessionsMax,
    open: async () => {
      log.push(`open ${++opened}`)
      const connection = { number: opened }
      return {
        connection,
        settings: new Map(),
        database: 'default',
        chosen: new Set<string>(),
        hasTemporaryTables: false,
        isBroken: false,
      }
    },
    close: ({ connection }: Session) => void log.push(`close ${(connection as { number: number }).number}`),
  })
  const request = (id: string, more: Partial<SessionRequest> = {}): SessionRequest => ({
    ...{ id, mustExist: false, timeoutMs: 60_000, close: false },
    ...more,
  })
  const use = (id: string, more?: Partial<SessionRequest>) => sessions.within(request(id, more), async () => {})
  return { sessions, request, use, log }
}

test('a session lasts as long as its last request said', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { use, log } = makeSessions(2)
  await use('a', { timeoutMs: 1_000 })
  t.mock.timers.tick(999)
  await use('a', { timeoutMs: 5_000 })
  t.mock.timers.tick(4_999)
  assert.deepEqual(log, ['open 1'])
  t.mock.timers.tick(1)
  await assert.rejects(use('a', { mustExist: true }), { code: 372 })
  await use('a')
  assert.deepEqual(log, ['open 1', 'close 1', 'open 2'])
})

test('sessions are limited, each has one request at a time, and a failure keeps neither', async () => {
  const { sessions, request, use, log } = makeSessions(2)
  await use('a')
  await assert.rejects(
    sessions.within(request('b'), async () => {
      await assert.rejects(use('b'), { code: 373 })
      await assert.rejects(use('c'), { code: 700 })
      throw new Error('the statement failed')
    }),
    /the statement failed/,
  )
  await use('b', { close: true })
  await sessions.within(request('c'), async (session) => {
    session.isBroken = true
  })
  await assert.rejects(use('c', { mustExist: true }), { code: 372 })
  await sessions.close()
  assert.deepEqual(log, ['open 1', 'open 2', 'close 2', 'open 3', 'close 3', 'close 1'])
})
