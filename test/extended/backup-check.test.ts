import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { BackupManifest } from '../../schemas/backup.ts'
import type { SystemStatus } from '../../src/operations/status/system-status.ts'
import { makeFolder, ODD_EVENTS, Running } from '../support/backup.ts'
import { envelope } from '../support/pipeline.ts'
import { processesNaming } from '../support/processes.ts'
import { bury } from '../support/running.ts'
import { TestSite } from '../support/site.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

interface Check {
  readonly compared: readonly { readonly what: string; readonly backup: unknown; readonly restored: unknown }[]
}

test('a scheduled backup is known, and a check finds every kind of damage', async (t) => {
  const step = stepsOf(t)
  const dir = makeFolder(t)
  const [backups, temporary] = [join(dir, 'backups'), join(dir, 'tmp')]
  for (const made of [backups, temporary]) mkdirSync(made)
  const site = new TestSite(t)
  const whole = join(dir, 'whole')
  let name = ''

  await step('an instance without BACKUP_URL has none; with it, the first is written at once', async () => {
    const before = await Running.start(t, site)
    const key = before.ready.api_key!
    await before.send(key, ODD_EVENTS)
    await before.send(key, [{ ip: '17.1.2.3', event_type: 'x' }, { ip: '10.0.0.1' }, { ip: '10.0.0.2' }])
    await before.upload(key, '{"ip":"17.0.0.9"}\n{"ip":"17.0.0.8"}\n')
    await before.untilIdle()
    await bury(before.redis, envelope('demo', 'dead-1'))
    assert.equal((JSON.parse((await site.ipid('status', '--json')).stdout) as SystemStatus).backup, null)
    await before.stop()

    site.env.BACKUP_URL = `file://${backups}`
    const running = await Running.start(t, site)
    const status = await until(
      async () => JSON.parse((await site.ipid('status', '--json')).stdout) as SystemStatus,
      ({ backup }) => backup?.last != null,
    )
    const { last, error, missing_since: missing, place } = status.backup!
    assert.deepEqual([error, missing, place], [null, null, backups])
    name = last!.name
    const lines = (await site.ipid('status')).stdout
    assert.match(lines, new RegExp(`^last backup +\\S.* old, .*${name} in ${backups}; the next at 20`, 'm'))
    const scraped = await until(async () => {
      const text = await (await fetch(running.ready.metrics_url)).text()
      return /^ipid_backup_bytes\S* \d+$/m.test(text) ? text : undefined
    })
    assert.match(scraped, /^ipid_backup_timestamp_seconds\S* 1\.?\d+/m)
    assert.match(scraped, /^ipid_backup_late_seconds\S* 0$/m)
    assert.match(scraped, /^ipid_backup_attempts_total\{result="done"\S* 1$/m)
    await running.stop()
    cpSync(join(backups, name), whole, { recursive: true })
  })

  const check = (from: string, ...flags: string[]) => site.ipid('restore', '--check', from, ...flags)
  const tmpdir = process.env.TMPDIR
  process.env.TMPDIR = temporary
  t.after(() => {
    process.env.TMPDIR = tmpdir
    if (tmpdir === undefined) delete process.env.TMPDIR
  })

  await step('a whole one is restored, compared, and leaves nothing', async () => {
    const checked = await check(`file://${backups}`, '--json')
    assert.equal(checked.code, 0, checked.stderr)
    const { compared } = JSON.parse(checked.stdout) as Check
    assert.ok(compared.length >= 10)
    const of = (what: string) => compared.find((one) => one.what === what)?.restored
    assert.deepEqual(
      [of('events'), of('distinct event ids'), of('events of batch jobs'), of('sum of the outcomes')],
      [6, 6, 2, 2],
    )
    assert.deepEqual([of('tenants'), of('keys'), of('dead letters'), of('tenants with events')], [1, 1, 1, 1])
    const text = await check(whole)
    assert.match(text.stdout, /^events +6 +6$/m)
    assert.match(text.stdout, /^the backup of \S+ is whole: all \d+ figures are equal$/m)
    assert.deepEqual(readdirSync(temporary), [])
    assert.deepEqual(processesNaming(temporary), [])
  })

  await step('a check that is killed leaves a folder, which the next check removes', async () => {
    site.env.TMPDIR = temporary
    // Node.js from 22.8 on keeps compiled code in TMPDIR.
    site.env.NODE_DISABLE_COMPILE_CACHE = '1'
    const killed = site.spawn('restore', '--check', whole)
    const files = () => readdirSync(temporary, { recursive: true, encoding: 'utf8' })
    await until(() => files().some((file) => file.endsWith('redis.sock')))
    killed.child.kill('SIGKILL')
    await until(() => processesNaming(temporary).length === 0)
    const [left, ...others] = readdirSync(temporary)
    assert.match(left!, /^ipid-check-/)
    assert.deepEqual(others, [])
    assert.equal((await check(whole)).code, 0)
    assert.deepEqual(readdirSync(temporary), [])
  })

  const eventsFile = () => readdirSync(whole).find((file) => file.includes('events'))!
  /** Changes a copy, and returns the error of its check. */
  const damaged = async (change: (folder: string) => void): Promise<string> => {
    const folder = join(dir, 'damaged')
    cpSync(whole, folder, { recursive: true })
    change(folder)
    const { code, stderr, stdout } = await check(folder)
    rmSync(folder, { recursive: true })
    assert.equal(code, 1, stdout)
    assert.deepEqual(readdirSync(temporary), [])
    return stderr.split('\n').find((line) => line.startsWith('ipid: '))!
  }

  await step('a missing file', async () => {
    const file = eventsFile()
    assert.equal(
      await damaged((folder) => rmSync(join(folder, file))),
      `ipid: the backup is damaged: the file ${file} is missing`,
    )
  })

  await step('a missing manifest', async () => {
    const error = await damaged((folder) => rmSync(join(folder, 'manifest.json')))
    assert.match(error, /damaged is not a backup, or the backup did not finish: it has no manifest\.json$/)
  })

  await step('a file that is cut off', async () => {
    const file = eventsFile()
    const error = await damaged((folder) => truncateSync(join(folder, file), 100))
    assert.match(error, new RegExp(`^ipid: the backup is damaged: ${file} has 100 bytes, not \\d+$`))
  })

  await step('a changed byte', async () => {
    const file = eventsFile()
    const error = await damaged((folder) => {
      const content = readFileSync(join(folder, file))
      content[content.length >> 1]! ^= 1
      writeFileSync(join(folder, file), content)
    })
    assert.equal(error, `ipid: the backup is damaged: the checksum of ${file} is wrong`)
  })

  /** Writes a changed manifest whose own checksum is right. */
  const withManifest = (change: (manifest: BackupManifest) => object) =>
    damaged((folder) => {
      const path = join(folder, 'manifest.json')
      const { checksum: _, ...manifest } = JSON.parse(readFileSync(path, 'utf8')) as BackupManifest & {
        checksum: string
      }
      const changed = change(manifest)
      const checksum = createHash('sha256').update(JSON.stringify(changed)).digest('hex')
      writeFileSync(path, JSON.stringify({ ...changed, checksum }))
    })

  await step('another form', async () => {
    assert.equal(
      await withManifest((manifest) => ({ ...manifest, format: 2, ipid_version: '9.0.0' })),
      'ipid: ipid 9.0.0 wrote the backup in format 2, but this ipid reads format 1: restore it with ipid 9.0.0',
    )
  })

  await step('tables of a newer version', async () => {
    assert.equal(
      await withManifest((manifest) => ({
        ...manifest,
        ipid_version: '9.0.0',
        migrations: [...manifest.migrations, '9999_new'],
      })),
      'ipid: the backup comes from a newer ipid (9.0.0): this version does not know its migration 9999_new; restore it with ipid 9.0.0',
    )
  })
})
