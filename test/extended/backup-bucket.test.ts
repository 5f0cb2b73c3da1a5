import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { withBackupFolder } from '../../src/operations/backup/commands/source-folder.ts'
import { BackupPlace } from '../../src/operations/backup/place.ts'
import { Progress } from '../../src/operations/backup/progress.ts'
import { readSchedule } from '../../src/operations/backup/redis/schedule-store.ts'
import { openBackup } from '../../src/operations/backup/restore.ts'
import { S3Store } from '../../src/stores/objects/s3-store.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { S3_ENVIRONMENT, startTestS3 } from '../support/s3.ts'
import { scheduledBackups } from '../support/scheduled-backups.ts'
import { handClock } from '../support/tenants.ts'
import { until } from '../support/until.ts'

Object.assign(process.env, S3_ENVIRONMENT)

test('a backup in a bucket is found by its URL or that of its place, and a missing object is named', async (t) => {
  const redis = await startTestRedis()
  const s3 = await startTestS3(t)
  const folder = await mkdtemp(join(tmpdir(), 'ipid-bucket-'))
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }))
  const location = { bucket: s3.bucket, prefix: 'ipid/backups', endpoint: s3.endpoint, region: undefined }
  const store = new S3Store(location)
  const clock = handClock(Date.UTC(2026, 10, 25, 3))
  const backups = scheduledBackups({ client, folder, clock, store, location })
  t.after(async () => {
    await backups.stop()
    await store.close()
    client.disconnect()
    await rm(folder, { recursive: true, force: true })
  })
  await backups.start()
  const first = await until(async () => (await readSchedule(client))?.last?.name)
  clock.nowMs += 86_400_000
  const second = await until(async () => {
    const name = (await readSchedule(client))?.last?.name
    return name === first ? undefined : name
  })
  const place = new BackupPlace(location, store)
  assert.deepEqual(
    (await place.sets()).map(({ name, isWhole }) => [name, isWhole]),
    [
      [first, true],
      [second, true],
    ],
  )
  const steps: string[] = []
  const progress = new Progress((line) => steps.push(line))
  const url = (path: string) => `s3://${s3.bucket}/ipid/backups${path}?endpoint=${s3.endpoint}`
  const opened = (path: string) =>
    withBackupFolder(url(path), progress, async (dir) => (await openBackup(dir, progress, ingest)).manifest)
  assert.equal((await opened('')).tables.length, 1)
  assert.ok(steps.some((line) => line.includes(`the newest whole backup`) && line.includes(second)))
  const one = await opened(`/${first}`)
  await store.delete(`${first}/${one.tables[0]!.file.name}`)
  await assert.rejects(opened(`/${first}`), {
    message: `the backup is damaged: the file ${one.tables[0]!.file.name} is missing`,
  })
  await assert.rejects(opened('/nothing'), /nothing in s3:\/\/\S+ at \S+ is not a backup, or the backup did not finish/)
})
