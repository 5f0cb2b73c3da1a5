import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import fs from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Service } from '../../src/run/service.ts'
import { Calls, dataDir, SERVICES, type ServiceCase } from '../support/services.ts'
import { until } from '../support/until.ts'

/*
 * Holds every service to the contract of `Service`. What a start sets going shows in what the service asks of others,
 * which is counted and held up until the service is stopped: twice as much of it is a second loop, or a second listener.
 */

/** What keeps this process from ending, a line each. */
function handles(): string[] {
  return process
    .getActiveResourcesInfo()
    .filter((name) => name !== 'Immediate')
    .sort()
}

/** Closing takes a few turns. */
async function assertReleased(name: string, before: readonly string[]): Promise<void> {
  const isReleased = (left: readonly string[]) => left.length <= before.length
  await until(handles, isReleased, 10_000).catch(() => assert.deepEqual(handles(), before, `${name} holds on`))
}

/** Everything that waits for nothing but a turn of the event loop, or for a folder to be read, has gone on. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) {
    await new Promise(setImmediate)
    readdirSync(dataDir)
    await fs.stat(dataDir)
  }
}

async function make({ make }: ServiceCase): Promise<{ service: Service; calls: Calls; close: () => Promise<void> }> {
  const calls = new Calls()
  const { service, close } = await make(calls)
  return { service, calls, close: async () => void (await close?.()) }
}

for (const [name, service] of Object.entries(SERVICES)) {
  test(`${name}: start and stop do their work once, in whichever order they are called`, async () => {
    const before = handles()

    const never = await make(service)
    never.calls.release()
    await never.service.stop()
    await never.service.stop()
    const unstarted = never.calls.begun
    await never.service.start()
    await settled()
    if (!service.startsAgain) assert.equal(never.calls.begun, unstarted, 'stopped before it was started, it starts')
    await never.service.stop()
    await never.close()

    const single = await make(service)
    await single.service.start()
    await settled()
    const once = single.calls.begun
    assert.equal(once > 0, !service.idle)
    single.calls.release()
    await single.service.stop()
    await single.close()

    const twice = await make(service)
    await Promise.all([twice.service.start(), twice.service.start()])
    await twice.service.start()
    await settled()
    assert.equal(twice.calls.begun, once, 'started twice, it works twice')
    twice.calls.release()
    await Promise.all([twice.service.stop(), twice.service.stop()])
    await twice.service.stop()
    const stopped = twice.calls.begun
    await twice.service.start()
    await settled()
    assert.equal(twice.calls.begun - stopped, service.startsAgain ? once : 0, 'started behind its stop')
    await twice.service.stop()
    await twice.close()

    await assertReleased(name, before)
  })
}

test('a stop in the middle of a start ends what the start begins', async () => {
  for (const [name, service] of Object.entries(SERVICES)) {
    const before = handles()
    const { service: it, calls, close } = await make(service)
    const started = it.start()
    calls.release()
    await Promise.all([it.stop(), started])
    await close()
    await assertReleased(name, before)
  }
})

test('every service is among those that are held to the contract', () => {
  const src = fileURLToPath(new URL('../../src/', import.meta.url))
  const texts = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    // What puts services together wraps them; the wrapping is held by the tests of whole instances.
    .filter((file) => file !== 'app.ts' && !/\/role(?:\.ts|\/)/.test(file))
    .map((file) => readFileSync(join(src, file), 'utf8'))
  const namesIn = (pattern: RegExp) => texts.flatMap((text) => [...text.matchAll(pattern)].map((match) => match[1]!))
  const shapes = ['Service', ...namesIn(/\binterface (\w+) extends [^{]*\bService\b/g)].join('|')
  const classes = namesIn(new RegExp(`\\bclass (\\w+)[^{]*\\bimplements [^{]*\\b(?:${shapes})\\b`, 'g'))
  const factories = namesIn(new RegExp(`\\bfunction (\\w+)\\([^)]*\\): (?:Promise<)?(?:${shapes})\\b`, 'g'))
  assert.deepEqual([...classes, ...factories].sort(), Object.keys(SERVICES).sort())
})
