import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { built } from '../../../src/bootstrap/build.mjs'

const PAST = new Date('2026-01-02T03:04:05Z')
const TARGETS = { program: { entryPoints: ['src/main.ts'], platform: 'node' as const } }
let edits = 0

/** A project of two modules. */
function project(t: TestContext) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'ipid-program-')))
  t.after(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'src'))
  mkdirSync(join(root, 'node_modules'))
  const write = (name: string, text: string) => {
    const path = join(root, name)
    writeFileSync(path, text)
    // Older than the build, and each edit has its own time.
    const time = new Date(PAST.getTime() + edits++ * 1_000)
    utimesSync(path, time, time)
  }
  write('src/main.ts', "import { word } from './word.ts'\nexport const said: string = word()\n")
  write('src/word.ts', "export const word = () => 'first'\n")
  const build = () => built({ root, targets: TARGETS })
  const said = async (dir: string) => {
    const { said } = (await import(String(pathToFileURL(join(dir, 'program/main.js'))))) as { said: string }
    return said
  }
  return { root, write, build, said }
}

test('the program can build itself: its build replaces the URL of build.mjs in one place only', () => {
  const text = readFileSync(new URL('../../../src/bootstrap/build.mjs', import.meta.url), 'utf8')
  const code = text.split('\n').filter((line) => line.includes('import.meta.url') && !line.startsWith('/**'))
  assert.deepEqual(code, ["const ROOT = fileURLToPath(new URL('../..', import.meta.url))"])
})

test('sources are built once, and again when one of them changed', async (t) => {
  const { root, write, build, said } = project(t)
  const first = await build()
  assert.equal(statSync(first).mode & 0o777, 0o755, 'another user may run it')
  assert.equal(await build(), first)
  const source = join(root, 'src/word.ts')
  write('src/word.ts', "export const word = () => 'other'\n")
  const second = await build()
  assert.equal(await said(second), 'other')
  assert.equal(await said(first), 'first', 'a running process finds its parts')
  rmSync(source)
  await assert.rejects(build(), /Could not resolve "\.\/word\.ts"/)
  assert.deepEqual(readdirSync(dirname(second)).filter((name) => name.startsWith('build-')).length, 2, 'no half build')
})

test('a copy with times in whole seconds, rounded up or down, counts as built', async (t) => {
  const { root, build } = project(t)
  const source = join(root, 'src/word.ts')
  const setMs = (ms: number) => utimesSync(source, new Date(ms), new Date(ms))
  setMs(PAST.getTime() + 925)
  const first = await build()
  for (const [ms, isSame] of [
    [0, true],
    [1_000, true],
    [1_925, false],
  ] as const) {
    setMs(PAST.getTime() + ms)
    assert.equal((await build()) === first, isSame, String(ms))
  }
})

test('a build in the second of its newest source is not repeated', async (t) => {
  const { root, build, said } = project(t)
  const source = join(root, 'src/word.ts')
  utimesSync(source, new Date(), new Date())
  const first = await build()
  assert.equal(await said(first), 'first')
  assert.equal(await build(), first)
})

test('a package that esbuild cannot compile is an error', async (t) => {
  const { root, write, build } = project(t)
  write('src/word.ts', "import native from './native.node'\nexport const word = () => String(native)\n")
  writeFileSync(join(root, 'src/native.node'), '')
  await assert.rejects(build(), /No loader is configured for "\.node" files/)
})

test('parallel builds each get a whole build, and old builds are removed', async (t) => {
  const { write, build, said } = project(t)
  const dirs = await Promise.all([build(), build(), build()])
  assert.deepEqual(await Promise.all(dirs.map(said)), ['first', 'first', 'first'])
  const home = dirname(dirs[0]!)
  assert.ok(dirs.some((dir) => dir === join(home, readlinkSync(join(home, 'current')))))
  for (let edit = 0; edit < 10; edit++) {
    write('src/word.ts', `export const word = () => '${edit}'\n`)
    await build()
  }
  assert.deepEqual([readdirSync(home).length, await said(await build())], [9, '9'], '8 builds and the link')
})

test('a build ends its compiler', { skip: process.platform !== 'linux' && 'looks into /proc' }, async (t) => {
  const { root } = project(t)
  // Without the hook for TypeScript, which has its own compiler.
  const script = `
    import { readFileSync } from 'node:fs'
    import { setTimeout as sleep } from 'node:timers/promises'
    import { built } from ${JSON.stringify(String(new URL('../../../src/bootstrap/build.mjs', import.meta.url)))}
    await built({ root: ${JSON.stringify(root)}, targets: ${JSON.stringify(TARGETS)} })
    const children = () => readFileSync('/proc/self/task/' + process.pid + '/children', 'latin1')
    for (let turn = 0; turn < 500 && children() !== ''; turn++) await sleep(20)
    console.log(children() === '' ? 'ended' : 'left')`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  assert.equal(stdout, 'ended\n')
})

test('a read-only installation is built in a temporary folder, with its packages', async (t) => {
  const { root, build, write, said } = project(t)
  mkdirSync(join(root, 'node_modules/words'))
  writeFileSync(join(root, 'node_modules/words/package.json'), '{"name":"words","type":"module","main":"index.js"}')
  writeFileSync(join(root, 'node_modules/words/index.js'), "export const said = 'package'")
  write('src/word.ts', "import { said } from 'words'\nexport const word = () => said\n")
  // A file where the folder would be also stops root.
  writeFileSync(join(root, 'node_modules/.cache'), '')
  const external = { program: { ...TARGETS.program, external: ['words'] } }
  const dir = await built({ root, targets: external })
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  assert.ok(dir.startsWith(realpathSync(tmpdir())) && !dir.startsWith(root))
  assert.equal(await said(dir), 'package')
  assert.notEqual(await build(), dir, 'nothing can be kept')
})

test('the program, its pages and TypeBox are in the build', async () => {
  const dir = await built()
  assert.ok(readdirSync(join(dir, 'program')).includes('main.mjs'))
  const loaded = readdirSync(join(dir, 'child')).filter((name) => name.endsWith('.mjs'))
  assert.ok(loaded.includes('child.mjs') && loaded.length < 20, 'each file takes a child of `ipid start` a millisecond')
  const pages = readdirSync(join(dir, 'pages'))
  for (const type of ['js', 'css'])
    assert.ok(
      pages.some((name) => new RegExp(`^main-\\w+\\.${type}$`).test(name)),
      type,
    )
  const [one, many] = await Promise.all(
    [join(dir, 'typebox/index.js'), resolve('node_modules/typebox/build/index.mjs')].map(
      (path) => import(String(pathToFileURL(path))),
    ),
  )
  assert.deepEqual(Object.keys(one).sort(), Object.keys(many).sort())
})
