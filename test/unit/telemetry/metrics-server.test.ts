import assert from 'node:assert/strict'
import { get } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { pino } from 'pino'
import { MetricsServer } from '../../../src/telemetry/metrics-server.ts'

const OPTIONS = {
  port: 0,
  mayMove: false,
  gather: async () => [],
  problems: async () => [],
  verdict: async () => ({ isStalled: false, text: 'ok: all is well' }),
  log: pino({ level: 'silent' }),
}

test('a foreign name that resolves to this machine gets no metrics', async (t) => {
  const server = new MetricsServer({ ...OPTIONS, host: '127.0.0.1' })
  await server.start()
  t.after(() => server.stop())
  const { port } = new URL(server.url!)
  const statusFor = (host: string) =>
    new Promise((resolve, reject) => {
      const request = get(server.url!, { headers: { Host: host } }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      request.once('error', reject)
    })
  for (const host of ['127.0.0.1', `127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`, '[::1]:9090']) {
    assert.equal(await statusFor(host), 200, host)
  }
  for (const host of ['evil.example', `evil.example:${port}`, `127.0.0.1.evil.example:${port}`, 'localhost.evil']) {
    assert.equal(await statusFor(host), 403, host)
  }
})

test('on an address that others reach, it answers by every name', async (t) => {
  const server = new MetricsServer({ ...OPTIONS, host: '0.0.0.0' })
  await server.start()
  t.after(() => server.stop())
  assert.match(server.url!, /^http:\/\/127\.0\.0\.1:\d+\/metrics$/)
  const status = await new Promise((resolve, reject) => {
    const request = get(server.url!, { headers: { Host: 'process:9090' } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    request.once('error', reject)
  })
  assert.equal(status, 200)
})

test('the error names its cause: the address, or the port', async (t) => {
  const elsewhere = new MetricsServer({ ...OPTIONS, host: '192.0.2.1', mayMove: true })
  const message = 'ADMIN_HOST "192.0.2.1": this machine does not have this address'
  await assert.rejects(elsewhere.start(), { name: 'InputError', message })

  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.after(() => other.close())
  const { port } = other.address() as AddressInfo
  const late = new MetricsServer({ ...OPTIONS, host: '127.0.0.1', port })
  const taken = new RegExp(
    `^ADMIN_PORT ${port}: cannot listen on 127\\.0\\.0\\.1:${port} \\(another program listens there\\); choose another port$`,
  )
  await assert.rejects(late.start(), { name: 'StartupError', message: taken })
})

test('readiness names the processes that are not at work', async (t) => {
  let problems = ['process+sink does not run', 'ingress does not answer']
  const server = new MetricsServer({ ...OPTIONS, host: '127.0.0.1', problems: async () => problems })
  await server.start()
  t.after(() => server.stop())
  const ask = async () => {
    const answer = await fetch(new URL('/readyz', server.url), { headers: { connection: 'close' } })
    return [answer.status, await answer.text()]
  }
  assert.deepEqual(await ask(), [503, 'process+sink does not run\ningress does not answer\n'])
  problems = []
  assert.deepEqual(await ask(), [200, 'ready\n'])
})

test('progress is the verdict: 503 when it is stalled or unknown', async (t) => {
  const verdicts = [
    async () => ({ isStalled: false, text: 'warning: something' }),
    async () => ({ isStalled: true, text: 'stalled: nothing moves' }),
    () => Promise.reject(new Error('ipid is still starting')),
  ]
  const answers = []
  for (const verdict of verdicts) {
    const server = new MetricsServer({ ...OPTIONS, host: '127.0.0.1', verdict })
    await server.start()
    t.after(() => server.stop())
    const answer = await fetch(new URL('/progress', server.url), { headers: { connection: 'close' } })
    answers.push([answer.status, await answer.text()])
  }
  assert.deepEqual(answers, [
    [200, 'warning: something\n'],
    [503, 'stalled: nothing moves\n'],
    [503, 'unknown: ipid is still starting\n'],
  ])
})
