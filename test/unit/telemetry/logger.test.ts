import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { PASSING } from '../../../src/run/passing.ts'
import { createLogger, withoutControls } from '../../../src/telemetry/logger.ts'
import { RecentProblems } from '../../../src/telemetry/problems.ts'

const SRC = new URL('../../../src/', import.meta.url)

test('all log lines come from one logger, which knows whether a terminal shows them', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => /\.m?ts$/.test(name))
  const calls = files.flatMap((name) => {
    const text = readFileSync(new URL(name, SRC), 'utf8')
    const makes = name === 'telemetry/logger.ts' ? [] : [...text.matchAll(/\bpino\(([^)]*)/g)]
    const asks = [...text.matchAll(/await createLogger\((\{[^}]*\})/g)]
    return [
      ...makes.map(([, args]) => ({ name, isFine: /level: 'silent'|write:/.test(args!) })),
      ...asks.map(([, args]) => ({ name, isFine: /pretty: \S*stderr\.isTTY|\bpretty, /.test(args!) })),
    ]
  })
  assert.ok(calls.length > 8)
  assert.deepEqual(
    calls.filter(({ isFine }) => !isFine).map(({ name }) => name),
    [],
  )
})

test('written warnings and errors are remembered, with their subject', async () => {
  const problems = new RecentProblems()
  const log = await createLogger({ level: 'fatal', name: 'test', pretty: false, problems })
  log.warn('below the level')
  assert.deepEqual(problems.list(Date.now()), [])
  log.level = 'warn'
  log.warn({ err: new Error('down') }, 'sink waits')
  log.info('nothing')
  const [found] = problems.list(Date.now())
  assert.deepEqual([found!.level, found!.message, found!.times], ['warn', 'sink waits: down', 1])
})

test('waits before readiness are no problems, and every wait is marked as one', async () => {
  const problems = new RecentProblems()
  const log = await createLogger({ level: 'warn', name: 'test', pretty: false, problems })
  const write = () => {
    log.warn({ err: new Error('connect ECONNREFUSED'), delay_ms: 250, ...PASSING }, 'sink waits')
    log.warn('a file is broken')
  }
  const messages = () => problems.list(Date.now()).map(({ message, times }) => `${message} (${times})`)
  write()
  assert.deepEqual(messages(), ['a file is broken (1)'])
  problems.ready()
  assert.deepEqual(messages(), ['a file is broken (1)'])
  write()
  assert.deepEqual(messages(), ['a file is broken (2)', 'sink waits: connect ECONNREFUSED (1)'])

  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const waits = files.flatMap((name) =>
    [...readFileSync(new URL(name, SRC), 'utf8').matchAll(/log\.warn\(\s*\{[^}]*delay_ms[^}]*\}/g)].map(([call]) => ({
      name,
      call,
    })),
  )
  assert.ok(waits.length >= 6)
  assert.deepEqual(
    waits.filter(({ call }) => !call.includes('...PASSING')).map(({ name }) => name),
    [],
  )
})

test('a log line for people has no control characters, and is one line except for a stack', () => {
  const evil = 'x\n\u001b]0;owned\u0007\u009b31m'
  const line = {
    level: 40,
    msg: evil,
    list: [evil],
    about: { [evil]: evil },
    err: { stack: `${evil}\n    at y` },
    n: 1,
  }
  const shown = withoutControls(`${JSON.stringify(line)}\n`)
  const text = 'x\\n\\u001b]0;owned\\u0007\\u009b31m'
  assert.deepEqual(JSON.parse(shown), {
    ...line,
    msg: text,
    list: [text],
    about: { [text]: text },
    err: { stack: 'x\n\\u001b]0;owned\\u0007\\u009b31m\n    at y' },
  })
  assert.equal(shown.indexOf('\n'), shown.length - 1)
})

test('lines of one fault that differ in numbers only are one a minute; others are all written', () => {
  const script = `
    import { createLogger } from './src/telemetry/logger.ts'
    const log = await createLogger({ level: 'info', name: 'test', pretty: false })
    for (const free of [31, 7, 0]) log.error({ err: new Error('Only ' + free + ' bytes are free') }, 'cannot insert')
    for (const job of [1, 2]) log.warn('job ' + job + ' is refused')
    for (const job of [1, 2]) log.info('job ' + job + ' is done')`
  const { stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', script], {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    encoding: 'utf8',
  })
  const lines = stderr.trim().split('\n')
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { msg: string }).msg),
    ['cannot insert', 'job 1 is refused', 'job 2 is refused', 'job 1 is done', 'job 2 is done'],
  )
})
