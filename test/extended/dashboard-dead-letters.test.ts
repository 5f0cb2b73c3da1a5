import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { redisLetterDesk } from '../../src/dashboard/redis/letter-desk.ts'
import { packBlock } from '../../src/pipeline/event/block.ts'
import { deadLetterFields } from '../../src/pipeline/streams/dead-letter.ts'
import { waitingEvents } from '../../src/pipeline/streams/status.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { startDeadLetters, writeLetter } from '../support/dead-letters.ts'
import { envelope } from '../support/pipeline.ts'

test('the dashboard lists, shows and changes the same as the command', async (t) => {
  const { client, letters } = await startDeadLetters(t)
  const desk = redisLetterDesk(letters)
  for (let i = 0; i < 51; i++) await writeLetter(client, envelope('t', `e${i}`), undefined)
  await writeLetter(client, envelope('t', 'lost'), undefined, { group: 'gone', stream: 'intake' })
  const first = (await desk.list(undefined))!
  assert.deepEqual([first.letters.length, first.letters[0]!.event_id], [50, 'lost'])
  const rest = (await desk.list(first.next!))!
  assert.deepEqual([rest.letters.map((letter) => letter.event_id), rest.next], [['e1', 'e0'], null])
  assert.equal(await desk.list('nonsense'), undefined)
  const [lost, retried] = first.letters.map(({ id }) => id)
  const shown = (await desk.find(lost!))!
  assert.deepEqual([shown.letter, shown.event.event_id], [first.letters[0], 'lost'])
  assert.match(shown.why_not!, /no longer has the group gone/)
  const refused = await desk.change(lost!, 'retry')
  assert.deepEqual(refused, { result: 'refused', reason: shown.why_not })
  assert.deepEqual(await desk.change(lost!, 'discard'), { result: 'done' })
  assert.deepEqual(await desk.change(retried!, 'retry'), { result: 'done' })
  for (const id of [lost!, retried!, '0:1-1', 'x']) assert.equal(await desk.change(id, 'discard'), undefined)
  assert.equal(await client.xlen(keys.dead(0)), 50)
})

test('the dashboard changes all listed letters of a reason, in parts, and no others', async (t) => {
  const { client, letters, all } = await startDeadLetters(t)
  const desk = redisLetterDesk(letters)
  const write = (atMs: number, reason: string, group = 'process') => {
    const block = packBlock([envelope('t', `e${atMs}`)])
    const origin = { group, stream: 'intake', lane: 'live' as const, claimId: undefined }
    const fields = deadLetterFields(origin, { reason, block, outcome: undefined })
    return client.call('XADD', keys.dead(0), `${atMs}-0`, ...fields)
  }
  for (let i = 1; i <= 620; i++) await write(i, i % 100 === 0 ? 'other' : 'poison')
  await write(700, 'poison', 'gone')
  await write(800, 'poison')
  assert.deepEqual((await desk.list(undefined, 'other'))!.letters.length, 6)
  const newest = '0:700-0'
  const first = (await desk.changeMany({ reason: 'poison', newest }, 'retry'))!
  assert.deepEqual([first.done, first.gone, first.refused], [499, 0, 1])
  const rest = await desk.changeMany({ reason: 'poison', newest, after: first.next! }, 'retry')
  assert.deepEqual(rest, { done: 614 - 499, gone: 0, refused: 0, next: null })
  const left = (await all()).map(({ atMs }) => atMs)
  assert.deepEqual(left, [100, 200, 300, 400, 500, 600, 700, 800])
  assert.equal(await waitingEvents(client, ingest, 1), 614)
  assert.equal(await desk.changeMany({ newest: 'x' }, 'discard'), undefined)
  assert.deepEqual(await desk.changeMany({ newest }, 'discard'), { done: 7, gone: 0, refused: 0, next: null })
  assert.deepEqual(
    (await all()).map(({ atMs }) => atMs),
    [800],
  )
})

test('one call of the dashboard reads a limited number of letters; the next one continues', async (t) => {
  const { client, letters } = await startDeadLetters(t)
  const desk = redisLetterDesk(letters, 100)
  for (let i = 1; i <= 250; i++) {
    const origin = { group: 'process', stream: 'intake', lane: 'live' as const, claimId: undefined }
    const block = packBlock([envelope('t', `e${i}`)])
    const fields = deadLetterFields(origin, { reason: i <= 2 ? 'rare' : 'often', block, outcome: undefined })
    await client.call('XADD', keys.dead(0), `${i}-0`, ...fields)
  }
  const next = async (after?: string) => {
    const page = (await desk.list(after, 'rare'))!
    return [page.letters.map(({ event_id }) => event_id), page.next]
  }
  assert.deepEqual(await next(), [[], '0:151-0'])
  assert.deepEqual(await next('0:151-0'), [[], '0:51-0'])
  assert.deepEqual(await next('0:51-0'), [['e2', 'e1'], null])
  const change = (after?: string) =>
    desk.changeMany({ reason: 'rare', newest: '0:250-0', ...(after !== undefined && { after }) }, 'discard')
  const none = { done: 0, gone: 0, refused: 0 }
  assert.deepEqual(await change(), { ...none, next: '0:151-0' })
  assert.deepEqual(await change('0:51-0'), { ...none, done: 2, next: null })
})
