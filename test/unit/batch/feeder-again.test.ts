import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOTHING_KNOWN } from '../../../src/enrichment/answers/answer.ts'
import { Feeder } from '../../../src/pipeline/sources/batch/feeder.ts'
import type { FeederStore, OpenJob } from '../../../src/pipeline/sources/batch/feeder-ports.ts'
import { systemClock } from '../../../src/run/clock.ts'
import { UnavailableError } from '../../../src/run/errors.ts'
import { readingOf } from '../../support/batch.ts'
import { silent } from '../../support/pipeline.ts'
import { until } from '../../support/until.ts'

const JOB: OpenJob = {
  ...{
    id: 'job',
    tenantId: 'acme',
    isOurs: true,
    state: 'queued',
    receivedAtMs: 0,
    archived: false,
    addresses: 'full',
  },
  ...{ received: 1, chunks: 1, next: 1 },
}

test('a chunk is fed, then the job advances; if that is uncertain, the chunk is fed again', async () => {
  const log: string[] = []
  let next = 1
  const act = async (name: string, fails: boolean) => {
    log.push(name)
    if (fails) throw new UnavailableError('killed')
  }
  const store = {
    acquire: async () => true,
    assertHeld: () => {},
    release: async () => {},
    openJobs: async () => [{ ...JOB, next }],
    eventsInLane: async () => ({ waiting: 0, added: 0 }),
    hasSpare: () => false,
    readChunk: async () => ({ firstLine: 1, gaps: [], bytes: Buffer.from('{}\n') }),
    tenantRules: async () => ({}),
    feed: () => act('feed', log.length === 0),
    async advance() {
      await act('advance', log.length === 2)
      next = 2
      return true
    },
    summaryIfFinished: async () => undefined,
  } as unknown as FeederStore
  const counts = { fed: 1, rejected: 0, invalidIp: 0, errors: [], reasons: [] }
  const reading = { blocks: new Map(), payloads: new Map(), outcomes: new Map(), counts }
  const feeder = new Feeder({
    store,
    readerOf: () => readingOf(reading),
    check: () => [],
    enricher: { enrich: () => NOTHING_KNOWN },
    hostnames: undefined,
    ...{ partitions: 1, waitingEventsMax: 10, waitingPayloadsMax: 10, clock: systemClock, log: silent },
  })
  await feeder.start()
  await until(() => next === 2)
  await feeder.stop()
  assert.deepEqual(log, ['feed', 'feed', 'advance', 'feed', 'advance'])
})
