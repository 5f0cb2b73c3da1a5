import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { groupCommit } from '../support/pipeline.ts'
import { identitiesIn, privateRedis, sendSteadily } from '../support/private-redis.ts'
import { until } from '../support/until.ts'

const run = promisify(execFile)

/** A file system in a file: a copy of the file is the content of a disk when the power fails. */
class CuttableDisk {
  readonly #image: string
  readonly #mounted: string[]
  readonly path: string

  private constructor(image: string, path: string, mounted: string[]) {
    this.#image = image
    this.path = path
    this.#mounted = mounted
  }

  /** Undefined when this process may not mount. */
  static async make(t: TestContext): Promise<CuttableDisk | undefined> {
    const folder = mkdtempSync(join(tmpdir(), 'ipid-power-'))
    const mounted: string[] = []
    t.after(async () => {
      for (const path of mounted) await run('umount', ['-l', path])
      await rm(folder, { recursive: true, force: true })
    })
    const image = join(folder, 'image')
    try {
      await run('truncate', ['-s', '256M', image])
      await run('mkfs.ext4', ['-q', '-F', image])
      return new CuttableDisk(image, await mount(image, join(folder, 'disk'), mounted), mounted)
    } catch {
      return undefined
    }
  }

  /** The disk after a power failure at this moment, repaired from its journal. */
  async afterPowerFailure(): Promise<CuttableDisk> {
    const copy = `${this.#image}-cut`
    // Background writes of the system meanwhile are whole in one of them.
    await until(async () => {
      await run('cp', ['--sparse=always', this.#image, copy])
      return await run('cmp', [this.#image, copy]).then(
        () => true,
        () => false,
      )
    })
    return new CuttableDisk(copy, await mount(copy, `${copy}-disk`, this.#mounted), this.#mounted)
  }
}

async function mount(image: string, path: string, mounted: string[]): Promise<string> {
  mkdirSync(path)
  await run('mount', ['-o', 'loop', image, path])
  mounted.push(path)
  return path
}

/** Events confirmed before the power failed, and the number of those missing after it. */
async function underLoad(t: TestContext, disk: CuttableDisk, fsync: 'always' | 'no') {
  const redis = privateRedis(t, join(disk.path, 'data'))
  const server = await redis.start({ fsync })
  const answered: string[] = []
  const ended = new AbortController()
  const sent = sendSteadily(groupCommit(await redis.connect(), { deadlineMs: 200 }), answered, ended.signal)
  await until(() => answered.length >= 20_000)
  process.kill(server.pid, 'SIGSTOP')
  const before = [...answered]
  const rest = await disk.afterPowerFailure()
  await server.kill()
  ended.abort()
  await sent
  const next = privateRedis(t, join(rest.path, 'data'))
  await next.start({ fsync })
  const kept = await identitiesIn(await next.connect({ timeoutMs: 60_000 }))
  const there = new Set(kept)
  assert.equal(there.size, kept.length, 'none twice')
  return { answered: before.length, missing: before.filter((identity) => !there.has(identity)).length }
}

test('events confirmed before a power failure are on disk', async (t) => {
  const disk = await CuttableDisk.make(t)
  if (disk === undefined) return t.skip('this process may mount no disk')
  const { answered, missing } = await underLoad(t, disk, 'always')
  assert.equal(missing, 0, `of ${answered}`)
})

test('without a wait for the disk they are not, so the test before would notice', async (t) => {
  const disk = await CuttableDisk.make(t)
  if (disk === undefined) return t.skip('this process may mount no disk')
  assert.notEqual((await underLoad(t, disk, 'no')).missing, 0)
})
