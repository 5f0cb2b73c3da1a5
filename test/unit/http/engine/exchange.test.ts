import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { targetsOf } from '../../../../src/http/api/server.ts'
import type { ArrivedRequest, ResponseReader, ResponseWriter } from '../../../../src/http/engine/engine.ts'
import { type Endpoint, Exchange } from '../../../../src/http/engine/exchange.ts'
import { readHead } from '../../../../src/http/engine/head.ts'
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from '../../../../src/http/engine/limits.ts'
import type { HttpResponse } from '../../../../src/http/engine/response.ts'
import { Traffic } from '../../../../src/http/engine/traffic.ts'
import { testSources } from '../../../support/http.ts'
import { silent } from '../../../support/pipeline.ts'

/** An engine's side of a request, which records each call. */
class FakeWriter implements ResponseWriter {
  readonly calls: string[] = []
  peerAddress = () => '127.0.0.1'
  headers: readonly string[] = []
  pause = () => void this.calls.push('pause')
  resume = () => void this.calls.push('resume')
  reader: ResponseReader | undefined
  readonly #full: boolean
  /** @param full the client has no room for a response */
  constructor(full: boolean) {
    this.#full = full
  }
  send: ResponseWriter['send'] = (status, headers, body, close, reader) => {
    this.headers = headers
    this.reader = reader
    this.calls.push(`send ${status} ${body}${close ? ' close' : ''}`)
    return !this.#full
  }
  sendBare = (status: number, _headers: readonly string[], bodyBytes: number | undefined, close: boolean) => {
    this.calls.push(`bare ${status} ${bodyBytes}${close ? ' close' : ''}`)
    return !close
  }
  sendLingering = (status: number, _headers: readonly string[], body: string | Uint8Array) =>
    void this.calls.push(`linger ${status} ${body}`)
  stream = (): never => assert.fail('nothing here is streamed')
  keepOpen = () => void this.calls.push('keep open')
  cutOff = () => void this.calls.push('cut off')
}

interface Setting {
  readonly headers?: Readonly<Record<string, string>>
  readonly closes?: boolean
  readonly isLast?: boolean
  readonly headOnly?: boolean
  readonly limits?: Partial<HttpLimits>
  readonly endpoint?: Partial<Endpoint>
  readonly full?: boolean
}

const OK: HttpResponse = { status: 200, body: 'ok', headers: { 'x-own': '1' } }

function arrive(setting: Setting) {
  const { headers = {}, closes = false, isLast = false, headOnly = false, limits, endpoint, full = false } = setting
  const head = readHead({
    forEach: (line) => {
      for (const [name, value] of Object.entries(headers)) line(name, value)
    },
  })
  const request: ArrivedRequest = { head, parameters: [], query: '', closes, isLast, isAnsweredLater: false }
  const traffic = new Traffic({ ...DEFAULT_HTTP_LIMITS, ...limits }, silent, new Registry())
  const writer = new FakeWriter(full)
  const failures: unknown[] = []
  const explain = (error: unknown) => {
    failures.push(error)
    return { response: { status: 500, body: 'failed' }, unexpected: true }
  }
  const whole: Endpoint = { path: '/', respond: () => OK, ...endpoint }
  const exchange = new Exchange(request, writer, whole, headOnly, traffic, explain)
  exchange.start()
  return { exchange, traffic, writer, failures }
}

const turn = () => new Promise(setImmediate)

test('a response has its headers, and those added for any response', async () => {
  const endpoint = {
    respond(exchange: Exchange) {
      exchange.addHeader('x-any', '2')
      return OK
    },
  }
  const { writer } = arrive({ headers: { 'x-request-id': 'me' }, endpoint })
  await turn()
  assert.deepEqual(writer.calls, ['send 200 ok'])
  assert.deepEqual(Object.fromEntries(Array.from({ length: 4 }, (_, i) => writer.headers.slice(2 * i, 2 * i + 2))), {
    'x-request-id': 'me',
    'x-any': '2',
    'content-type': 'application/json; charset=utf-8',
    'x-own': '1',
  })
})

test('HEAD is the head with the length of the body, 204 a head without one', async () => {
  const head = arrive({ headOnly: true })
  const none = arrive({ endpoint: { respond: () => ({ status: 204, body: '' }) } })
  await turn()
  assert.deepEqual([head.writer.calls, none.writer.calls], [['bare 200 2'], ['bare 204 undefined']])
})

test('a connection lingers only when it would close before an arriving body was read', async () => {
  const known = { 'content-length': '10' }
  const chunked = { 'transfer-encoding': 'chunked' }
  const closing = { endpoint: { respond: () => ({ ...OK, close: true }) } }
  const cases: [Setting, string][] = [
    [{}, 'send 200 ok'],
    [{ closes: true }, 'send 200 ok'],
    [closing, 'send 200 ok close'],
    [{ headers: known }, 'send 200 ok'],
    [{ headers: known, closes: true }, 'linger 200 ok'],
    [{ headers: known, ...closing }, 'linger 200 ok'],
    [{ headers: known, limits: { discardMaxBytes: 9 } }, 'linger 200 ok'],
    [{ headers: chunked }, 'linger 200 ok'],
    [
      { headers: chunked, endpoint: { respond: () => ({ status: 408, body: 'late', close: true }) } },
      'send 408 late close',
    ],
  ]
  for (const [setting, expected] of cases) {
    const { writer } = arrive(setting)
    await turn()
    assert.deepEqual(writer.calls, [expected], JSON.stringify(setting))
  }
  const whole = arrive({ headers: chunked })
  whole.exchange.receive(Buffer.from('body'), true)
  await turn()
  assert.deepEqual(whole.writer.calls, ['send 200 ok'])
})

test('the last request of a connection begins in a later turn, and its connection lingers', async () => {
  let begun = 0
  const last = (setting: Setting) => {
    const it = arrive({ headers: { 'transfer-encoding': 'chunked' }, isLast: true, ...setting })
    it.exchange.receive(Buffer.from('body'), true)
    return it
  }
  const respond = (body: string | Uint8Array) => () => {
    begun++
    return { ...OK, body }
  }
  const text = last({ endpoint: { respond: respond('ok') } })
  assert.equal(begun, 0, 'later bytes in the same packet may still end the connection')
  const bytes = last({ endpoint: { respond: respond(Buffer.from('ok')) } })
  const head = last({ headOnly: true, endpoint: { respond: respond('ok') } })
  const gone = last({ endpoint: { respond: respond('ok') } })
  gone.exchange.abort()
  await turn()
  await turn()
  assert.deepEqual(text.writer.calls, ['linger 200 ok'])
  assert.deepEqual(bytes.writer.calls, ['send 200 ok close'])
  assert.deepEqual(head.writer.calls, ['bare 200 2 close', 'cut off'])
  assert.deepEqual(gone.writer.calls, [])
  assert.equal(begun, 3)
})

test('lingering ends with the body, above a byte limit, or after two sweeps without bytes', async () => {
  const lingering = async () => {
    const it = arrive({ headers: { 'transfer-encoding': 'chunked' }, limits: { discardMaxBytes: 100 } })
    await turn()
    it.exchange.receive(Buffer.alloc(60), false)
    assert.deepEqual(it.writer.calls, ['linger 200 ok'])
    return it
  }
  const ended = await lingering()
  ended.exchange.receive(Buffer.alloc(1), true)
  assert.deepEqual(ended.writer.calls, ['linger 200 ok'], 'not in the turn in which the response may have been written')
  const long = await lingering()
  long.exchange.receive(Buffer.alloc(60), false)
  const quiet = await lingering()
  quiet.exchange.sweep(performance.now())
  assert.equal(quiet.writer.calls.length, 1)
  quiet.exchange.sweep(performance.now())
  await turn()
  for (const { writer } of [ended, long, quiet]) assert.deepEqual(writer.calls, ['linger 200 ok', 'cut off'])
  const gone = await lingering()
  gone.exchange.abort()
  gone.exchange.sweep(performance.now())
  assert.equal(gone.writer.calls.length, 1, 'nothing is touched after an abort')
})

test('a response without room keeps its request in flight, until it is taken or too late', async () => {
  const sending = async () => {
    const it = arrive({ limits: { writeStallMs: 100_000 }, full: true })
    await turn()
    return it
  }
  const taken = await sending()
  const drained = taken.traffic.drain(10_000)
  taken.exchange.sweep(performance.now() + 50_000)
  taken.writer.reader?.hasRoom()
  assert.equal(await drained, 0)
  taken.exchange.sweep(performance.now() + 900_000)
  assert.deepEqual(taken.writer.calls, ['send 200 ok', 'keep open'])
  const stalled = await sending()
  stalled.exchange.sweep(performance.now() + 110_000)
  assert.deepEqual(stalled.writer.calls, ['send 200 ok', 'cut off'])
})

test('a head that ends its connection is followed by the end, in a later turn', async () => {
  const { writer } = arrive({ headOnly: true, endpoint: { respond: () => ({ ...OK, close: true }) } })
  await turn()
  await turn()
  assert.deepEqual(writer.calls, ['bare 200 2 close', 'cut off'])
})

test('during a drain every response ends its connection, and the drain waits for open requests', async () => {
  let finish = (_: HttpResponse) => {}
  const slow = new Promise<HttpResponse>((resolve) => {
    finish = resolve
  })
  const { traffic, writer } = arrive({ endpoint: { respond: () => slow } })
  const drained = traffic.drain(10_000)
  finish(OK)
  assert.equal(await drained, 0)
  assert.deepEqual(writer.calls, ['send 200 ok close'])
})

test('a paused connection that closes is not touched any more', async () => {
  const endpoint: Partial<Endpoint> = {
    bodyMaxBytes: 10e6,
    streamsBody: true,
    respond: async (exchange) => {
      for await (const _ of exchange.stream()) await new Promise(() => {})
      return OK
    },
  }
  const { exchange, writer } = arrive({ headers: { 'content-length': '9000000' }, endpoint })
  for (let i = 0; i < 3; i++) exchange.receive(Buffer.alloc(1_000_000), false)
  await turn()
  assert.deepEqual(writer.calls, ['pause'])
  exchange.abort()
  await turn()
  assert.deepEqual(writer.calls, ['pause'])
})

test('a body is whole whenever it is read, though its memory is gone by then', async () => {
  const read = async (length: number, pieces: readonly string[], early: boolean, late: boolean) => {
    let ask = () => {}
    const asked = new Promise<void>((resolve) => {
      ask = resolve
    })
    const endpoint: Partial<Endpoint> = {
      bodyMaxBytes: 100,
      respond(exchange) {
        const text = () => exchange.text()
        if (!late) return Promise.resolve(text()).then((body) => ({ status: 200, body }))
        return asked.then(text).then((body) => ({ status: 200, body }))
      },
    }
    const it = arrive({ headers: { 'content-length': String(length) }, endpoint })
    // The turn ends, and the response begins, before the body arrives.
    if (early) await turn()
    pieces.forEach((piece, i) => {
      const memory = Buffer.from(piece)
      it.exchange.receive(memory, i === pieces.length - 1)
      memory.fill('x')
    })
    await turn()
    ask()
    await turn()
    return it.writer.calls
  }
  for (const early of [false, true]) {
    for (const late of [false, true]) {
      for (const pieces of [['{"ip":"::1"}'], ['{"ip":', '"::1"}'], ['{"ip":"::1"}', '']]) {
        const calls = await read(12, pieces, early, late)
        assert.deepEqual(calls, ['send 200 {"ip":"::1"}'], `${pieces} ${early} ${late}`)
      }
    }
  }
})

test("an immediate response is sent once its body has arrived, joint ones at the turn's end", async () => {
  const endpoint = { bodyMaxBytes: 10_000 }
  const whole = (bytes: number, beginsTogether: boolean) => {
    const it = arrive({ headers: { 'content-length': `${bytes}` }, endpoint: { ...endpoint, beginsTogether } })
    it.exchange.receive(Buffer.alloc(bytes), true)
    return it.writer.calls
  }
  const small = [whole(2, true), whole(4_096, true)]
  assert.deepEqual(small, [[], []])
  assert.deepEqual([whole(2, false), whole(4_097, true)], [['send 200 ok'], ['send 200 ok']])
  assert.deepEqual(arrive({}).writer.calls, ['send 200 ok'], 'without a body')
  const late = arrive({ headers: { 'content-length': '2' }, endpoint })
  await turn()
  assert.deepEqual(small, [['send 200 ok'], ['send 200 ok']])
  assert.deepEqual(late.writer.calls, ['send 200 ok'], 'the end of the turn does not wait for the body')
})

test('a response after a promise is sent when that resolves, and a rejection is answered', async () => {
  const held = (after: Promise<unknown>) => arrive({ endpoint: { respond: () => ({ ...OK, after }) } })
  let keep!: () => void
  const kept = held(new Promise<void>((resolve) => (keep = resolve)))
  const failure = new Error('not stored')
  const failed = held(Promise.reject(failure))
  await turn()
  assert.deepEqual(kept.writer.calls, [])
  assert.deepEqual([failed.writer.calls, failed.failures], [['send 500 failed'], [failure]])
  keep()
  await turn()
  assert.deepEqual(kept.writer.calls, ['send 200 ok'])
})

test('a response that fails after its promise resolved is a failure', async () => {
  const broken = { get: () => assert.fail('no headers') }
  const response = Object.defineProperty({ ...OK, after: Promise.resolve() }, 'headers', broken)
  const { writer, failures } = arrive({ endpoint: { respond: () => response } })
  await turn()
  assert.deepEqual(
    failures.map((failure) => (failure as Error).message),
    ['no headers'],
  )
  assert.deepEqual(writer.calls, ['send 500 failed'])
})

test('a source knows the address of a visitor who left before the key was checked, as after a beacon', async () => {
  const routes = testSources().filter((route) => route.access === 'key' && route.sourceKind !== undefined)
  assert.ok(routes.length > 50)
  for (const route of routes) {
    let seen: string | undefined
    const targets = targetsOf([route], async (_, exchange) => {
      await turn()
      seen = exchange.peerAddress()
      return OK
    })
    const { exchange } = arrive({ endpoint: targets.find(({ method }) => method === route.method)!.endpoint })
    exchange.abort()
    await turn()
    await turn()
    assert.equal(seen, '127.0.0.1', `${route.method} ${route.path}`)
  }
})
