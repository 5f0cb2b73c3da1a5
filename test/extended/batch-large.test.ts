import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createReadStream, createWriteStream, readFileSync, writeFileSync } from 'node:fs'
import { type ClientRequest, request } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { createGzip } from 'node:zlib'
import type { BatchAccepted, BatchJob, BatchJobList, RejectedLine } from '../../schemas/api/batch.ts'
import { runCommand } from '../support/command.ts'
import { startInstance, type TestInstance } from '../support/instance.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

const LINES = 200_000
const FAULTY = 800
const PATH = '/v1/ingest/batch'

/** A faulty line of each kind in turn, and its code. */
function faultyLine(n: number): readonly [code: RejectedLine['code'], line: Buffer] {
  const kinds = [
    ['not_json', Buffer.from(`{"ip":"17.0.0.1","n":${n},}`)],
    ['schema', Buffer.from(`{"ip":"17.0.0.1","session_id":"s${n}","text":"a \\"quoted\\" \\u00e9 é"}`)],
    ['invalid_ip', Buffer.from(`{"ip":"17.0.0.${n}.1","event_id":"i${n}"}`)],
    ['not_utf8', Buffer.from(`{"ip":"17.0.0.1","n":${n},"x":"\xff"}`, 'latin1')],
    ['too_deep', Buffer.from(`{"ip":"17.0.0.1","x":${'['.repeat(200)}${n}${']'.repeat(200)}}`)],
    ['not_json', Buffer.from(`17.0.0.1 - - [${n}] "GET / HTTP/1.1" 200`)],
  ] as const
  return kinds[n % kinds.length]!
}

/** Writes the file, with blank lines between. Returns its faulty lines. */
function writeLines(path: string): [line: number, code: string, text: string][] {
  const faulty: [number, string, string][] = []
  const parts: Buffer[] = []
  for (let n = 0, line = 0; n < LINES; n++) {
    if (n % 1_000 === 7) {
      parts.push(Buffer.from(' \r\n'))
      line++
    }
    line++
    if (n % (LINES / FAULTY) !== 3) {
      parts.push(Buffer.from(`{"ip":"17.0.${n % 250}.1","properties":{"n":${n}}}\n`))
      continue
    }
    const [code, text] = faultyLine(faulty.length)
    faulty.push([line, code, text.toString('latin1')])
    parts.push(text, Buffer.from('\r\n'))
  }
  writeFileSync(path, Buffer.concat(parts))
  return faulty
}

const ask = async <T>(instance: TestInstance, path: string) => {
  const headers = { 'x-api-key': instance.apiKey }
  const answer = await fetch(`${instance.ready.url}${PATH}${path}`, { headers })
  assert.equal(answer.status, 200)
  return (await answer.json()) as T
}

/** Starts to send a body. */
function sending(instance: TestInstance, query: string, headers: Record<string, string>): ClientRequest {
  const all = { 'x-api-key': instance.apiKey, 'content-type': 'application/x-ndjson', ...headers }
  return request(`${instance.ready.url}${PATH}${query}`, { method: 'POST', headers: all })
}

async function answerTo(sent: ClientRequest): Promise<BatchAccepted> {
  const { status, text } = await new Promise<{ status: number; text: string }>((resolve, reject) => {
    sent.on('error', reject)
    sent.on('response', (response) => {
      let read = ''
      response.setEncoding('utf8')
      response.on('data', (piece: string) => {
        read += piece
      })
      response.on('end', () => resolve({ status: response.statusCode!, text: read }))
      response.on('error', reject)
    })
  })
  assert.equal(status, 202, text)
  return JSON.parse(text) as BatchAccepted
}

test('the rejected lines of 200,000 come back exactly, by curl, a stream and gzip, over kills of the feeder', async (t) => {
  const step = stepsOf(t)
  const instance = await startInstance(t)
  const file = join(instance.dir, 'lines.ndjson')
  const wanted = writeLines(file)
  await pipeline(createReadStream(file), createGzip({ level: 1 }), createWriteStream(`${file}.gz`))
  const ids: string[] = []

  await step('the uploads', async () => {
    const { stdout } = await promisify(execFile)('curl', [
      ...['-s', `${instance.ready.url}${PATH}?label=curl`, '-H', `x-api-key: ${instance.apiKey}`],
      ...['-H', 'content-type: application/x-ndjson', '--data-binary', `@${file}`],
    ])
    const accepted = [JSON.parse(stdout) as BatchAccepted]
    const streamed = sending(instance, '?label=stream', {})
    createReadStream(file).pipe(streamed)
    accepted.push(await answerTo(streamed))
    const zipped = sending(instance, '?label=gzip', { 'content-encoding': 'gzip' })
    createReadStream(`${file}.gz`).pipe(zipped)
    accepted.push(await answerTo(zipped))
    for (const { received } of accepted) assert.equal(received, LINES)
    ids.push(...accepted.map(({ job_id }) => job_id))
  })

  await step('the feeder is killed in the middle of each', async () => {
    for (const id of ids) {
      const fed = await until(
        () => ask<BatchJob>(instance, `/${id}`),
        ({ rejected_lines: lines, status }) => lines!.kept > 100 || status === 'completed',
      )
      assert.equal(fed.status, 'running', 'it is killed in the middle')
      await until(() => [instance.kill('ipid process,sink')], Boolean)
    }
  })

  await step('each has all faulty lines, and no other', async () => {
    for (const id of ids) {
      const job = await until(
        () => ask<BatchJob>(instance, `/${id}`),
        ({ status }) => status === 'completed',
      )
      assert.deepEqual(
        [
          job.rejected + job.result_summary!.invalid_ip,
          job.stored,
          job.rejected_lines!.kept,
          job.rejected_lines!.complete,
        ],
        [FAULTY, LINES - FAULTY, FAULTY, true],
      )
      const headers = { 'x-api-key': instance.apiKey }
      const answer = await fetch(`${instance.ready.url}${PATH}/${id}/rejected`, { headers })
      assert.equal(answer.headers.get('x-rejected-lines'), String(FAULTY))
      const lines = (await answer.text())
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as RejectedLine)
      const bytesOf = ({ text, text_base64 }: RejectedLine) =>
        text === undefined ? Buffer.from(text_base64!, 'base64') : Buffer.from(text)
      assert.deepEqual(
        lines.map((line) => [line.line, line.code, bytesOf(line).toString('latin1')]),
        wanted,
      )
    }
  })

  await step('the command writes them into a file', async () => {
    const out = join(instance.dir, 'rejected.ndjson')
    const env = { DATA_DIR: instance.dataDir, IPID_API_KEY: instance.apiKey }
    const { code } = await runCommand(['batch', 'rejected', ids[0]!, '--out', out], { env })
    assert.equal(code, 0)
    assert.equal(readFileSync(out, 'utf8').trimEnd().split('\n').length, FAULTY)
  })
})

test('one key has one job, whenever the answer is lost or the ingress is killed', async (t) => {
  const instance = await startInstance(t)
  const body = Buffer.from(
    Array.from({ length: 60_000 }, (_, n) => `{"ip":"17.0.${n % 250}.1","properties":{"n":${n}}}\n`).join(''),
  )
  const one = async (label: string, lose: (sent: ClientRequest) => Promise<void>) => {
    const headers = { 'idempotency-key': label }
    const lost = sending(instance, `?label=${label}`, headers)
    lost.on('error', () => {})
    lost.on('response', (response) => response.destroy())
    await lose(lost)
    const accepted = await until(async () => {
      const again = sending(instance, `?label=${label}`, headers)
      const answered = answerTo(again).catch(() => undefined)
      again.end(body)
      return await answered
    })
    const { jobs } = await ask<BatchJobList>(instance, `?label=${label}`)
    assert.deepEqual(
      jobs.map(({ job_id, progress_total }) => [job_id, progress_total]),
      [[accepted.job_id, 60_000]],
      label,
    )
  }
  const kill = () => instance.kill('ipid ingress')
  await one('answer', async (lost) => {
    await new Promise<void>((resolve) => {
      lost.end(body, () => resolve())
    })
    lost.destroy()
  })
  await one('middle', async (lost) => {
    lost.write(body.subarray(0, body.length / 2))
    await until(() => lost.writableLength === 0)
    kill()
  })
  for (const [i, delayMs] of [0, 5, 20, 60, 150].entries()) {
    await until(async () => (await fetch(`${instance.ready.url}/readyz`).catch(() => undefined))?.ok)
    await one(`end${i}`, async (lost) => {
      lost.end(body)
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      kill()
    })
  }
  const { jobs } = await ask<BatchJobList>(instance, '?limit=100')
  assert.equal(jobs.length, 7)
})
