import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Facts, planReplay } from '../../../src/operations/replay/plan.ts'
import {
  type ArchivedEvent,
  type ArchivedUnit,
  type CountedOutcome,
  eventKey,
  type StoredRow,
} from '../../../src/operations/replay/ports.ts'
import { outcomeKey } from '../../../src/pipeline/event/outcomes.ts'

const WINDOW_MS = 1_000
const T = 1_000_000
const DAY = '2026-11-22'

function event(eventId: string, status: ArchivedEvent['status'] = 'ok', receivedAtMs = T): ArchivedEvent {
  return { eventId, receivedAtMs, status, text: '{}', requestId: '', isBrowser: false }
}

function unit(events: readonly ArchivedEvent[], more: Partial<ArchivedUnit> = {}): ArchivedUnit {
  return { partition: 1, entry: '5-0', commit: 'p:1', day: DAY, job: undefined, events, rejected: [], ...more }
}

function outcome(status: string, events: number, leftWith = '', more: Partial<CountedOutcome> = {}): CountedOutcome {
  const key = outcomeKey({ tenantId: 't', day: DAY, status })
  return { commit: 'p:1', leftWith, day: DAY, job: undefined, status, reason: '', key, events, ...more }
}

function facts(
  rows: Readonly<Record<string, readonly number[]>>,
  outcomes: readonly CountedOutcome[] = [],
  more: Partial<Facts> = {},
): Facts {
  const stored = Object.entries(rows).map(([id, times]): [string, StoredRow[]] => [
    id,
    times.map((receivedAtMs) => ({ receivedAtMs, jobId: '' })),
  ])
  return {
    tenantId: 't',
    conditions: 0,
    rows: new Map(stored),
    outcomes: new Map([['p:1', outcomes]]),
    letters: new Set(),
    taken: new Set(),
    refiltered: new Map(),
    windowMs: WINDOW_MS,
    ...more,
  }
}

function plan(units: readonly ArchivedUnit[], known: Facts, wanted: (event: ArchivedEvent) => boolean = () => true) {
  const { lost, counts } = planReplay(units, known, wanted)
  return {
    ids: lost.flatMap(({ events }) => events.map(({ eventId, isRepeat }) => `${eventId}${isRepeat ? ' repeat' : ''}`)),
    kept: lost.flatMap(({ kept }) => [...kept.values()]),
    outcomes: lost.flatMap(({ outcomes }) => [...outcomes].map(([key, n]) => `${key.split('\t')[3]} ${n}`)),
    counts,
  }
}

const KEPT_TODAY = { isKept: true, reason: '', classification: '' }

const IN_STEP = 'process:1:live:7-0'

test('stored and counted events are left alone', () => {
  const events = [event('a'), event('a'), event('n', 'filtered'), event('x', 'invalid_ip')]
  const known = facts({ a: [T] }, [outcome('filtered', 1), outcome('invalid_ip', 1), outcome('duplicates', 1, IN_STEP)])
  assert.deepEqual(plan([unit(events)], known), {
    ids: [],
    kept: [],
    outcomes: [],
    counts: { stored: 1, counted: 3, dead: 0, left: 0, replayed: 0, found: 0 },
  })
})

test('other events are restored, with repeats known as repeats', () => {
  const { ids, outcomes, counts } = plan(
    [unit([event('a'), event('b'), event('n', 'filtered')])],
    facts({ b: [T + 1] }),
  )
  assert.deepEqual(ids, ['a', 'b repeat', 'n'])
  assert.deepEqual(outcomes, [])
  assert.equal(counts.replayed, 3)
})

test('an event that came again after the window is no repeat', () => {
  assert.deepEqual(plan([unit([event('a')])], facts({ a: [T + WINDOW_MS] })).ids, ['a'])
  assert.deepEqual(plan([unit([event('a')])], facts({ a: [T - WINDOW_MS + 1] })).ids, ['a repeat'])
})

test('counts of absent events are taken back, and all of them are judged again', () => {
  const known = facts({}, [outcome('duplicates', 2, IN_STEP), outcome('duplicates', 9, 'process:2:live:7-0')])
  const { ids, outcomes } = plan([unit([event('a'), event('a'), event('b')])], known)
  assert.deepEqual(ids, ['a', 'a', 'b'])
  assert.deepEqual(outcomes, ['duplicates -2'], 'those of another partition stay')
})

test('with a condition, only counts that cannot belong to others are taken back', () => {
  const known = facts({}, [outcome('duplicates', 2, IN_STEP)])
  const wanted = ({ eventId }: ArchivedEvent) => eventId === 'b'
  const one = plan([unit([event('a'), event('c'), event('b')])], known, wanted)
  assert.deepEqual(one.ids, ['b'])
  assert.deepEqual(one.outcomes, [])
  assert.deepEqual(one.counts, { stored: 0, counted: 2, dead: 0, left: 0, replayed: 1, found: 0 })
  const two = plan([unit([event('a'), event('b'), event('b', 'ok', T + 1)])], known, wanted)
  assert.deepEqual(two.outcomes, ['duplicates -1'])
})

test('one row matches one event, also in a later round', () => {
  const { lost, taken, counts } = planReplay([unit([event('a')]), unit([event('a')])], facts({ a: [T] }), () => true)
  assert.equal(counts.stored, 1)
  assert.equal(lost.length, 1)
  const later = planReplay([unit([event('a')])], facts({ a: [T] }, [], { taken: new Set(taken) }), () => true)
  assert.equal(later.counts.stored, 0)
})

test('a filtered event does not match a stored one', () => {
  const { ids, counts } = plan([unit([event('a', 'filtered'), event('a')])], facts({ a: [T] }))
  assert.deepEqual(ids, ['a repeat'])
  assert.equal(counts.stored, 1)
})

test('dead letters stay dead letters, and so does their count', () => {
  const letters = new Set([eventKey('dead', T)])
  const events = [event('dead'), event('b')]
  const { ids, outcomes, counts } = plan([unit(events)], facts({}, [outcome('dead', 1, IN_STEP)], { letters }))
  assert.deepEqual([ids, outcomes, counts.dead], [['b'], [], 1])
  assert.deepEqual(plan([unit(events)], facts({ b: [T] }, [outcome('dead', 1, IN_STEP)], { letters })).ids, [])
})

test('job lines that are no event are counted again when their count is lost', () => {
  const job = unit([], { job: 'j', rejected: [{ reason: 'schema', lines: 3 }] })
  const counted = outcome('rejected', 3, '', { job: 'j', reason: 'schema' })
  assert.equal(plan([job], facts({}, [counted])).counts.counted, 3)
  const { outcomes, counts } = plan([job], facts({}, []))
  assert.deepEqual(outcomes, ['rejected 3'])
  assert.equal(counts.replayed, 3)
  const ofSource = unit([], { job: 'j', rejected: [{ reason: 'schema', lines: 3, sourceId: 'src_0123abc' }] })
  const [again] = planReplay([ofSource], facts({}, []), () => true).lost
  assert.deepEqual([...again!.outcomes], [[`t\t${DAY}\tj\trejected\tschema\t\tsrc_0123abc`, 3]])
  assert.deepEqual(plan([job], facts({}, [], { conditions: 1 })).counts.left, 3)
})

test('events that are only counted are counted again when their count is lost, each request of a commit once', () => {
  for (const status of ['no_ip', 'no_page']) {
    const some = (lines: number, sourceId = 'src_0123abc') => ({ status, reason: '', lines, sourceId })
    const key = `t\t${DAY}\t\t${status}\t\t\tsrc_0123abc`
    const counted = (events: number, sourceId = 'src_0123abc') => outcome(status, events, '', { sourceId })
    const known = (events: number) => facts({}, events === 0 ? [] : [counted(events), counted(9, 'src_7654321')])
    const live = [unit([], { rejected: [some(3)] }), unit([], { partition: 2, rejected: [some(2)] })]
    const lostOf = (events: number) => {
      const { lost } = planReplay(live, known(events), () => true)
      return lost.flatMap(({ outcomes }) => [...outcomes])
    }
    assert.deepEqual(lostOf(5), [])
    assert.deepEqual(lostOf(0), [
      [key, 3],
      [key, 2],
    ])
    assert.deepEqual(lostOf(3), [[key, 2]], 'a replay was killed after the first')
    const { matched } = planReplay(live.slice(0, 1), known(3), () => true)
    const [later] = planReplay(live.slice(1), { ...known(3), matched }, () => true).lost
    assert.deepEqual([...later!.outcomes], [[key, 2]], 'also in a later round')
    // They say nothing of events.
    const { ids } = plan([unit([event('lost')], { rejected: [some(1)] })], facts({}, [counted(1)]))
    assert.deepEqual(ids, ['lost'])
  }
})

test('counts of another day or job belong to other events', () => {
  const known = facts({}, [
    outcome('filtered', 1, '', { day: '2026-11-21' }),
    outcome('filtered', 1, '', { job: 'j' }),
    outcome('duplicates', 1, IN_STEP, { job: 'j' }),
  ])
  assert.deepEqual(plan([unit([event('n', 'filtered')])], known).ids, ['n'])
})

test('an event filtered again is counted, until it is judged otherwise', () => {
  const key = outcomeKey({ tenantId: 't', day: DAY, status: 'filtered', classification: 'isp' })
  const refiltered = new Map([[eventKey('a', T), key]])
  const events = [event('a'), event('b')]
  assert.deepEqual(plan([unit(events)], facts({ b: [T] }, [], { refiltered })).counts.counted, 1)
  const { lost, counts } = planReplay(
    [unit(events)],
    facts({ b: [T] }, [], { refiltered, verdictOf: () => KEPT_TODAY }),
    () => true,
  )
  assert.deepEqual([...lost[0]!.unfiltered], [[key, -1]])
  assert.equal(counts.found, 1)
  const back = outcome('filtered', -1, 'unfiltered:1:batch:x')
  assert.deepEqual(plan([unit(events)], facts({ a: [T], b: [T] }, [back], { refiltered })).counts.stored, 2)
})

test('judged again, a filtered event that is kept today is found, once', () => {
  const verdictOf = ({ eventId }: ArchivedEvent) => (eventId === 'n' ? KEPT_TODAY : undefined)
  const live = unit([event('n', 'filtered'), event('m', 'filtered')])
  const asItCame = [outcome('filtered', 2)]
  const first = plan([live], facts({}, asItCame, { verdictOf }))
  assert.deepEqual([first.ids, first.kept, first.outcomes, first.counts.found], [['n'], [-1], [], 1])
  const back = outcome('filtered', -1, 'kept:1:batch:x')
  const again = plan([live], facts({ n: [T] }, [...asItCame, back], { verdictOf }))
  assert.deepEqual([again.ids, again.counts.found], [[], 0])

  const inStep = [outcome('filtered', 2, IN_STEP)]
  const batch = plan([live], facts({}, inStep, { verdictOf }))
  assert.deepEqual([batch.ids, batch.kept, batch.outcomes, batch.counts.found], [['n'], [], ['filtered -1'], 1])
  const refiltered = [...inStep, outcome('filtered', -1, 'replay:1:batch:x')]
  for (const known of [facts({ n: [T] }, refiltered, { verdictOf }), facts({ n: [T] }, refiltered)]) {
    const { ids, counts } = plan([live], known)
    assert.deepEqual([ids, counts.stored, counts.counted], [[], 1, 1])
  }
})

test('an event found once and lost again is restored, and no count is taken twice for it', () => {
  const live = unit([event('n', 'filtered'), event('m', 'filtered')])
  const back = [outcome('filtered', 2), outcome('filtered', -1, 'kept:1:batch:x')]
  const verdictOf = ({ eventId }: ArchivedEvent) => (eventId === 'n' ? KEPT_TODAY : undefined)
  for (const known of [facts({}, back), facts({}, back, { verdictOf })]) {
    const { ids, kept, counts } = plan([live], known)
    assert.deepEqual([ids, kept, counts.replayed], [['n', 'm'], [-1], 2])
  }
  const two = [outcome('filtered', 2), outcome('filtered', -2, 'kept:1:batch:x')]
  assert.deepEqual(plan([live], facts({ m: [T] }, two)).ids, ['n'])
  const refiltered = new Map([[eventKey('n', T), 'key']])
  assert.deepEqual(plan([live], facts({}, back, { refiltered })).ids, [], 'filtered when it was judged again')
  const elsewhere = [outcome('filtered', 2), outcome('filtered', -1, 'kept:2:batch:x')]
  assert.deepEqual(plan([live], facts({}, elsewhere)).ids, [])
  const repeat = [...back, outcome('duplicates', 1, IN_STEP)]
  for (const known of [facts({}, repeat), facts({}, repeat, { verdictOf })]) {
    const { ids, kept, counts } = plan([live], known)
    assert.deepEqual([ids, kept, counts.counted], [[], [], 2])
  }
})

test('a found event takes back its own count, and not that of a bot that stays filtered', () => {
  const sum = (reason: string, classification: string, events = 1, leftWith = '', sourceId = '') => {
    const key = outcomeKey({ tenantId: 't', day: DAY, status: 'filtered', reason, classification, sourceId })
    return outcome('filtered', events, leftWith, { reason, key, sourceId })
  }
  const bots = [sum('bot:googlebot:verified', 'bot'), sum('bot:ahrefsbot:claimed', 'bot'), sum('', 'isp')]
  const verdicts: Readonly<Record<string, { isKept: boolean; reason: string; classification: string }>> = {
    g: { isKept: false, reason: 'bot:googlebot:verified', classification: 'bot' },
    a: { isKept: true, reason: '', classification: 'bot' },
    // New data: nothing tells its former class.
    n: { isKept: true, reason: '', classification: 'business' },
  }
  const verdictOf = ({ eventId }: ArchivedEvent) => verdicts[eventId]
  const takenBack = (units: readonly ArchivedUnit[], known: Facts, of: 'kept' | 'outcomes' = 'kept') =>
    planReplay(units, known, () => true).lost.flatMap((unit) =>
      [...unit[of]].map(([key, n]) => `${key.split('\t').slice(4, 7).join(' ')} ${n}`),
    )
  const all = ['g', 'a', 'n'].map((id) => event(id, 'filtered'))
  const right = ['bot:ahrefsbot:claimed bot -1', ' isp -1']
  assert.deepEqual(takenBack([unit(all)], facts({}, bots, { verdictOf })), right)
  assert.deepEqual(takenBack([unit(all)], facts({}, bots.toReversed(), { verdictOf })), right)
  const inStep = [...bots].map((one) => ({ ...one, leftWith: IN_STEP }))
  assert.deepEqual(takenBack([unit(all)], facts({}, inStep, { verdictOf }), 'outcomes'), right)
  // The units of a commit share its sums.
  const [g, a, n] = all as [ArchivedEvent, ArchivedEvent, ArchivedEvent]
  const apart = [unit([a]), unit([n], { partition: 2 }), unit([g], { partition: 3 })]
  assert.deepEqual(takenBack(apart, facts({}, bots, { verdictOf })), right)
  const same = { isKept: true, reason: '', classification: 'isp' }
  const sources = [sum('', 'isp', 1), sum('', 'isp', 1, '', 'src_1234567')]
  const ofSource = { ...event('s', 'filtered'), sourceId: 'src_1234567' }
  assert.deepEqual(
    takenBack(
      [unit([g, ofSource])],
      facts({}, sources, { verdictOf: ({ eventId }) => (eventId === 's' ? same : undefined) }),
    ),
    [' isp src_1234567 -1'],
  )
})
