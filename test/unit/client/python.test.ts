import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { PYTHON, runPython } from '../../support/clients/clients.ts'
import { eventsOf, type OddServer, refuse, startOddServer } from '../../support/odd-server.ts'

/* The Python client alone; what both clients do is in delivery.test.ts. */

const KEY = `ipid_${'9'.repeat(64)}`
const skip = PYTHON === undefined && 'there is no python3'

function run(t: TestContext, { url }: OddServer, lines: string) {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-client-'))
  t.after(() => rmSync(dir, { recursive: true }))
  return runPython({ url, key: KEY, dir }, lines)
}

const json = (value: unknown) => (_: unknown, response: { end(text: string): void }) => {
  response.end(JSON.stringify(value))
}

test('the end of the interpreter delivers, also that of a forked process', { skip }, async (t) => {
  const server = await startOddServer(t)
  await run(
    t,
    server,
    `
client.deliver({"ip": "17.0.0.1", "event_id": "before"})
client.track({"ip": "17.0.0.1", "event_id": "parent"})
child = os.fork()
if child == 0:
    client.track({"ip": "17.0.0.1", "event_id": "child"})
else:
    os.waitpid(child, 0)
`,
  )
  const sent = server.requests.flatMap((request) => eventsOf(request).map(({ event_id: id }) => id))
  assert.deepEqual(sent.toSorted(), ['before', 'child', 'parent'])
})

test('deliver raises the error of its event, from any thread', { skip }, async (t) => {
  const server = await startOddServer(t)
  server.answers.push(
    refuse(422, 'invalid_request', { errors: [{ path: 'events[0].ip', message: 'is required' }] }),
    refuse(401, 'unknown_key'),
  )
  const { stdout, stderr } = await run(
    t,
    server,
    `
import threading
def deliver():
    try:
        client.deliver({"ip": ""})
    except ipid.IpidError as error:
        print(error.code, error.status, error.request_id, list(error.errors))
for _ in range(2):
    thread = threading.Thread(target=deliver)
    thread.start()
    thread.join()
client.track({"ip": "17.0.0.1"})
client.close()
print(client.counts, client.track({"ip": "17.0.0.1"}))
`,
  )
  assert.equal(
    stdout,
    "invalid_request 422 r1 [{'path': 'ip', 'message': 'is required'}]\nunknown_key 401 r1 []\n" +
      'Counts(delivered=1, failed=2, queued=0) False\n',
  )
  assert.equal(stderr, '1 events were not delivered: the client was closed (client_closed)\n')
})

test('neither an option nor a key that cannot be sent is taken, and no key is quoted', { skip }, async (t) => {
  const server = await startOddServer(t)
  const { stdout } = await run(
    t,
    server,
    `
for key, url, options in [
    ("ipid_se cret", "http://a.example", {}),
    ("", "http://a.example", {}),
    ("ipid_secret", "http://user:secret@a.example", {}),
    ("ipid_secret", "secret", {}),
    ("ipid_secret", "http://a.example:secret", {}),
    ("ipid_secret", "http://a.example", {"batch_events": 101}),
]:
    try:
        ipid.Client(key, url, **options)
    except ValueError as error:
        print("secret" in str(error), error)
`,
  )
  assert.equal(stdout.match(/^False /gm)?.length, 6, stdout)
  assert.match(stdout, /^False batch_events must be/m)
})

test('a bulk lookup that is cut is asked again, and pages of companies are followed', { skip }, async (t) => {
  const server = await startOddServer(t)
  server.answers.push(
    (_, response) => response.end('{"ip":"17.0.0.1"}\n'),
    (_, response) => response.end('{"ip":"17.0.0.1"}\n{"ip":"17.0.0.2"}\n'),
    json({ companies: [{ company_id: 'a' }], next_cursor: 'next page' }),
    json({ companies: [{ company_id: 'b' }], next_cursor: null }),
  )
  const { stdout } = await run(
    t,
    server,
    `
print(len(client.bulk(["17.0.0.1", "17.0.0.2"])))
print([company["company_id"] for company in client.companies(country=["DE", "AT"], visits_min=3)])
`,
  )
  assert.equal(stdout, "2\n['a', 'b']\n")
  assert.equal(server.requests.at(-1)!.path, '/v1/companies?country=DE&country=AT&visits_min=3&cursor=next%20page')
  assert.match(server.requests[0]!.headers['user-agent']!, /^ipid-client-python\/\d+\.\d+\.\d+ python\//)
})

test('an upload is sent again after 429 and after an answer that was lost, with the same key', { skip }, async (t) => {
  const server = await startOddServer(t)
  server.answers.push(
    refuse(429, 'too_many_jobs'),
    (_, response) => response.destroy(),
    refuse(409, 'idempotency_key_in_use'),
    json({ job_id: 'j', status: 'queued', received: 1 }),
    refuse(409, 'idempotency_key_reused'),
  )
  const { stdout } = await run(
    t,
    server,
    `
with open("visits.csv", "w") as file:
    file.write("Visitor IP\\n17.0.0.1\\n")
print(client.upload_file("visits.csv", map={"Visitor IP": "ip"})["job_id"])
try:
    client.upload_file("visits.csv", idempotency_key="mine", label="crm")
except ipid.IpidError as error:
    print(error.code, error.may_be_stored)
`,
  )
  assert.equal(stdout, 'j\nidempotency_key_reused False\n')
  const keys = server.requests.map(({ headers }) => headers['idempotency-key'])
  assert.match(String(keys[0]), /^[0-9a-f-]{36}$/)
  assert.deepEqual(keys, [...Array(4).fill(keys[0]), 'mine'])
  assert.deepEqual(
    server.requests.map(({ path, headers, body }) => [path, headers['content-type'], body]),
    [
      ...Array(4).fill(['/v1/ingest/batch?map=Visitor%20IP%3Dip', 'text/csv', 'Visitor IP\n17.0.0.1\n']),
      ['/v1/ingest/batch?label=crm', 'text/csv', 'Visitor IP\n17.0.0.1\n'],
    ],
  )
})

test('the end of a process of multiprocessing delivers', { skip }, async (t) => {
  const server = await startOddServer(t)
  await run(
    t,
    server,
    `
import multiprocessing
def child():
    client.track({"ip": "17.0.0.1", "event_id": "forked"})
    ipid.Client(client._transport._key, "${server.url}").track({"ip": "17.0.0.1", "event_id": "made"})
    del sys.modules["ipid"]
    import ipid as later
    later.Client(client._transport._key, "${server.url}").track({"ip": "17.0.0.1", "event_id": "imported"})
client.track({"ip": "17.0.0.1", "event_id": "parent"})
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
`,
  )
  const sent = server.requests.flatMap((request) => eventsOf(request).map(({ event_id: id }) => id))
  assert.deepEqual(sent.toSorted(), ['forked', 'imported', 'made', 'parent'])
})

test('an event fails when no thread can be started, and the next one tries again', { skip }, async (t) => {
  const server = await startOddServer(t)
  const { stdout, stderr } = await run(
    t,
    server,
    `
import threading
start = threading.Thread.start
def fail(thread):
    raise RuntimeError("can't start new thread")
threading.Thread.start = fail
print(client.track({"ip": "17.0.0.1"}))
try:
    client.deliver({"ip": "17.0.0.1"})
except ipid.IpidError as error:
    print(error.code, error.may_be_stored)
threading.Thread.start = start
print(client.track({"ip": "17.0.0.1"}))
client.close()
print(client.counts)
`,
  )
  assert.equal(stdout, 'False\nnetwork False\nTrue\nCounts(delivered=1, failed=1, queued=0)\n')
  assert.equal(stderr, "1 events were not delivered: no thread can be started: can't start new thread (network)\n")
})

test('request repeats a POST only when the service has not taken it, or with an idempotency key', {
  skip,
}, async (t) => {
  const server = await startOddServer(t)
  server.answers.push(
    ...[refuse(429, 'rate_limited'), refuse(500, 'unexpected')],
    ...[refuse(500, 'unexpected'), json({ found: true })],
    ...[refuse(500, 'unexpected'), json({ job_id: 'j' })],
    ...[refuse(500, 'unexpected'), json({ job_id: 'j' })],
  )
  await run(
    t,
    server,
    `
try:
    client.request("POST", "/v1/ingest", {"events": []})
except ipid.IpidError as error:
    assert error.code == "unexpected"
client.request("GET", "/v1/ingest/batch")
client.request("POST", "/v1/bulk?mode=async", {"ips": ["17.0.0.1"]})
headers = {"Idempotency-Key": "mine", "X-Trace": "t", "X-API-Key": "other"}
client.request("POST", "/v1/bulk", {"ips": ["17.0.0.1"], "mode": "async"}, headers=headers)
`,
  )
  const keys = server.requests.map((request) => request.headers['idempotency-key'])
  assert.match(String(keys[4]), /^[0-9a-f-]{36}$/)
  assert.deepEqual(keys, [...Array(4).fill(undefined), keys[4], keys[4], 'mine', 'mine'])
  assert.deepEqual([server.requests[7]!.headers['x-trace'], server.requests[7]!.headers['x-api-key']], ['t', KEY])
})

test('an upload sends the bytes that the file had at the first attempt', { skip }, async (t) => {
  const server = await startOddServer(t)
  server.answers.push(refuse(429, 'too_many_jobs'), json({ job_id: 'j', status: 'queued', received: 1 }))
  const { stdout } = await run(
    t,
    server,
    `
def grow():
    with open("visits.csv", "a") as file:
        file.write("ip\\n17.0.0.1\\n")
grow()
connection = ipid.http.client.HTTPConnection
connect, send = connection.connect, connection.send
sizes = []
def connect_late(self):
    grow()
    connect(self)
def count(self, data):
    sizes.append(len(data))
    send(self, data)
connection.connect, connection.send = connect_late, count
client.upload_file("visits.csv")
print(sizes[1::2])
try:
    client.upload_file("missing.csv")
except FileNotFoundError:
    print("missing")
`,
  )
  assert.equal(stdout, '[12, 12]\nmissing\n')
  assert.deepEqual(
    server.requests.map(({ body }) => body),
    ['ip\n17.0.0.1\n', 'ip\n17.0.0.1\n'],
  )
})
