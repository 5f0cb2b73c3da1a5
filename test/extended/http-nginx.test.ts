import assert from 'node:assert/strict'
import { test } from 'node:test'
import { API_KEY, MemoryIntake, startHttp } from '../support/http.ts'
import { takePort } from '../support/ports.ts'
import { noNginx as skip, startNginx } from '../support/web-servers.ts'

/* A real nginx before the API, with its defaults. tls-proxies.test.ts has src/http/proxy/nginx.conf. */

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
