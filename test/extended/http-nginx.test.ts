import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ENGINE_CHOICES } from '../../src/http/engine/choose.ts'
import { testedEngine } from '../support/engines.ts'
import { API_KEY, MemoryIntake, startHttp } from '../support/http.ts'
import { takePort } from '../support/ports.ts'
import { noNginx as skip, startNginx } from '../support/web-servers.ts'

/* A real nginx before the API, with its defaults, and with the lines of src/http/engine/README.md. */

/** A page, a large answer and an event, through nginx. */
async function assertServed(url: string, intake: MemoryIntake): Promise<void> {
  for (let i = 0; i < 3; i++) assert.equal((await fetch(`${url}/healthz`)).status, 200)
  const document = await fetch(`${url}/docs/openapi-tools.json`)
  assert.deepEqual([document.status, typeof (await document.json())], [200, 'object'])
  const events = await fetch(`${url}/v1/ingest`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY },
    body: '{"events":[{"ip":"8.8.8.8"}]}',
  })
  assert.deepEqual([events.status, intake.envelopes.length], [200, 1])
}

test("nginx's default, HTTP/1.0 without keep-alive, is answered by node:http", { skip }, async (t) => {
  const intake = new MemoryIntake()
  const { url } = await startHttp(t, { engine: 'node:http', intake })
  const port = takePort()
  const proxy = `http://127.0.0.1:${port}`
  await startNginx(t, `server { listen 127.0.0.1:${port}; location / { proxy_pass ${url}; } }`, `${proxy}/healthz`)
  await assertServed(proxy, intake)
})

const README = readFileSync(new URL('../../src/http/engine/README.md', import.meta.url), 'utf8')
const [, lines] = /```nginx\n([\s\S]*?)```/.exec(README)!

for (const engine of ENGINE_CHOICES.filter((name) => name === 'node:http' || name === testedEngine())) {
  test(`nginx as the page of the engines says is answered by ${engine}`, { skip }, async (t) => {
    const intake = new MemoryIntake()
    const { port: upstream } = await startHttp(t, { engine, intake })
    const port = takePort()
    const proxy = `http://127.0.0.1:${port}`
    const http = lines!
      .replace('127.0.0.1:8080', `127.0.0.1:${upstream}`)
      .replace('listen 80', `listen 127.0.0.1:${port}`)
    await startNginx(t, http, `${proxy}/healthz`)
    await assertServed(proxy, intake)
  })
}
