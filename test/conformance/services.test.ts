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
 * Checks every service against the contract of `Service`. A start shows in the calls of the service to others,
 * which are counted and held until it is stopped: twice as many mean a second loop, or a second listener.
 */

/** Handles that keep this process alive, one line each. */
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

/** All work has run that needs only a turn of the event loop or a read of a folder. */
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
  test(`${name}: start and stop do their work once, in any order of calls`, async () => {
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
    assert.equal(twice.calls.begun - stopped, service.startsAgain ? once : 0, 'started after its stop')
    await twice.service.stop()
    await twice.close()

    await assertReleased(name, before)
  })
}

test('a stop during a start ends everything the start begins', async () => {
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

test('every service is checked against the contract', () => {
  const src = fileURLToPath(new URL('../../src/', import.meta.url))
  const texts = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    // Code that combines services wraps them; tests of whole instances cover it.
    .filter((file) => file !== 'app.ts' && !/\/role(?:\.ts|\/)/.test(file))
    .map((file) => readFileSync(join(src, file), 'utf8'))
  const namesIn = (pattern: RegExp) => texts.flatMap((text) => [...text.matchAll(pattern)].map((match) => match[1]!))
  const shapes = [
    'Service',
    ...namesIn(/\binterface (\w+) extends [^{]*\bService\b/g),
    ...namesIn(/\babstract class (\w+) implements Service\b/g),
  ].join('|')
  const classes = namesIn(new RegExp(`\\bclass (\\w+)[^{]*\\b(?:implements|extends) [^{]*\\b(?:${shapes})\\b`, 'g'))
  const factories = namesIn(new RegExp(`\\bfunction (\\w+)\\([^)]*\\): (?:Promise<)?(?:${shapes})\\b`, 'g'))
  assert.deepEqual([...classes, ...factories].sort(), Object.keys(SERVICES).sort())
})
