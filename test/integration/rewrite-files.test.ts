import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { rewriteFiles } from '../../src/operations/erasure/redis/rewrite-files.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'

test('an erasure waits for files that Redis still names and is about to remove', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const folder = mkdtempSync(join(tmpdir(), 'ipid-rewrite-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const aof = join(folder, 'appendonlydir')
  mkdirSync(aof)
  const lines = ['new.rdb seq 2 type b', 'old.aof seq 1 type h', 'new.aof seq 2 type i'].map((line) => `file ${line}\n`)
  writeFileSync(join(aof, 'appendonly.aof.manifest'), lines.join(''))
  for (const name of ['new.rdb', 'old.aof', 'new.aof']) writeFileSync(join(aof, name), '')
  await assert.rejects(rewriteFiles(client, folder, performance.now() + 300), /files of an earlier append-only file/)
  rmSync(join(aof, 'old.aof'))
  await rewriteFiles(client, folder, performance.now() + 60_000)
})
