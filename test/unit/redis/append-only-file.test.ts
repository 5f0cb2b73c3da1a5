import assert from 'node:assert/strict'
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { AppendOnlyFile } from '../../../src/stores/redis/durability/append-only-file.ts'
import { settled } from '../../support/mock-timeouts.ts'
import { until } from '../../support/until.ts'

/** A folder as Redis keeps it, and the calls to its disk. */
function folder(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-aof-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  /** Redis writes a new manifest and replaces the last one. */
  const names = (...appended: string[]) => {
    const lines = [
      'file base.rdb seq 1 type b',
      'file gone.aof seq 1 type h',
      ...appended.map((name) => `file ${name} seq 1 type i`),
    ]
    for (const name of appended) writeFileSync(join(dir, name), '')
    writeFileSync(join(dir, 'temp'), `${lines.join('\n')}\n`)
    renameSync(join(dir, 'temp'), join(dir, 'appendonly.aof.manifest'))
  }
  const syncs: { readonly name: string; end(error?: Error): void }[] = []
  const file = new AppendOnlyFile(dir, (fd) => {
    const name = basename(readlinkSync(`/proc/self/fd/${fd}`))
    return new Promise((resolve, reject) => {
      syncs.push({ name, end: (error) => (error === undefined ? resolve() : reject(error)) })
    })
  })
  t.after(() => file.close())
  return { dir, names, file, syncs, synced: () => syncs.map(({ name }) => name) }
}

const onLinux = process.platform === 'linux' ? {} : { skip: 'looks at /proc' }

test('writes during a busy disk are synced afterwards, all at once', onLinux, async (t) => {
  const { names, file, syncs, synced } = folder(t)
  names('1.aof')
  const done: string[] = []
  const ask = (name: string) => void file.synced().then(() => done.push(name))
  ask('first')
  ask('second')
  ask('third')
  await settled()
  assert.deepEqual(synced(), ['1.aof'], 'a running sync may miss later writes')
  syncs[0]!.end()
  await settled()
  assert.deepEqual([done, synced()], [['first'], ['1.aof', '1.aof']])
  syncs[1]!.end()
  await settled()
  assert.deepEqual(done, ['first', 'second', 'third'])
})

test('files are those of the current manifest, and others are closed', onLinux, async (t) => {
  const { names, file, syncs, synced } = folder(t)
  const round = async () => {
    const from = syncs.length
    const done = file.synced()
    await settled()
    for (const { end } of syncs.slice(from)) end()
    await done
    return synced().slice(from)
  }
  names('1.aof')
  assert.deepEqual(await round(), ['1.aof'])
  names('1.aof', '2.aof')
  assert.deepEqual(await round(), ['1.aof', '2.aof'], 'while Redis writes a new base')
  names('2.aof')
  assert.deepEqual(await round(), ['2.aof'])
})

test('files that a rewrite removes are freed in pieces: the appended file, and the old base', onLinux, async (t) => {
  const { dir, names, file, syncs } = folder(t)
  const sync = async () => {
    const done = file.synced()
    await settled()
    syncs.at(-1)!.end()
    await done
  }
  names('1.aof')
  const looking = ['1.aof', 'base.rdb'].map((name) => openSync(join(dir, name), 'w'))
  t.after(() => looking.forEach(closeSync))
  for (const fd of looking) ftruncateSync(fd, 20 * 2 ** 20)
  await sync()
  names('2.aof')
  writeFileSync(join(dir, 'base2.rdb'), '')
  for (const name of ['1.aof', 'base.rdb']) rmSync(join(dir, name))
  const manifest = join(dir, 'appendonly.aof.manifest')
  writeFileSync(`${manifest}.next`, 'file base2.rdb seq 2 type b\nfile 2.aof seq 2 type i\n')
  renameSync(`${manifest}.next`, manifest)
  await sync()
  for (const fd of looking) assert.ok(await until(() => fstatSync(fd).size <= 8 * 2 ** 20))
})

test('a disk that failed once is not trusted until Redis has begun another file', onLinux, async (t) => {
  const { names, file, syncs } = folder(t)
  await assert.rejects(file.synced(), { code: 'ENOENT' })
  names('1.aof')
  const failed = file.synced()
  const next = assert.rejects(
    file.synced(),
    /a sync of the append-only file has failed/,
    'the system would say that all is well',
  )
  await settled()
  syncs[0]!.end(new Error('EIO'))
  await assert.rejects(failed, /EIO/)
  await settled()
  for (const { end } of syncs) end()
  await next
  names('1.aof', '2.aof')
  await assert.rejects(file.synced(), /a sync of the append-only file has failed/)
  assert.equal(file.isBroken, true)
  names('2.aof')
  const healed = file.synced()
  await settled()
  syncs.at(-1)!.end()
  await healed
  assert.equal(file.isBroken, false)
})

test('a file that was closed syncs nothing', onLinux, async (t) => {
  const { names, file, syncs } = folder(t)
  names('1.aof')
  const done = file.synced()
  const closed = file.close()
  await settled()
  syncs[0]!.end()
  await done
  await closed
  await assert.rejects(file.synced(), /was closed/)
})
