import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const PROGRAM = new URL('../../../src/bootstrap/program.mjs', import.meta.url)
const { compiledProgram } = (await import(String(PROGRAM))) as {
  compiledProgram: (options: { root: string; entries: readonly string[] }) => Promise<string | undefined>
}

const PAST = new Date('2026-01-02T03:04:05Z')
let edits = 0

/** A project of two modules. */
function project(t: TestContext) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'ipid-program-')))
  t.after(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'src'))
  mkdirSync(join(root, 'node_modules'))
  for (const name of ['typescript', 'esbuild'])
    symlinkSync(resolve('node_modules', name), join(root, 'node_modules', name))
  const write = (name: string, text: string) => {
    const path = join(root, name)
    writeFileSync(path, text)
    // Files that are older than the compilation, each edit with a time of its own.
    const time = new Date(PAST.getTime() + edits++ * 1_000)
    utimesSync(path, time, time)
  }
  write(
    'src/main.ts',
    "import { word } from './word.ts'\nexport const said: string = word()\nexport const at = import.meta.url\n",
  )
  write('src/word.ts', "export const word = () => 'first'\n")
  const compile = () => compiledProgram({ root, entries: ['main.ts'] })
  const load = async (dir: string | undefined) => {
    assert.ok(dir !== undefined)
    return (await import(String(pathToFileURL(join(dir, 'main.mjs'))))) as { said: string; at: string }
  }
  return { root, write, compile, load }
}

test('a module knows its source as its place', async (t) => {
  const { root, compile, load } = project(t)
  const dir = await compile()
  assert.equal(statSync(dir!).mode & 0o777, 0o755, 'another user may run it')
  const { said, at } = await load(dir)
  assert.deepEqual({ said, at }, { said: 'first', at: String(pathToFileURL(join(root, 'src/main.ts'))) })
})

test('it is compiled once, and again when any module changed', async (t) => {
  const { root, write, compile, load } = project(t)
  const first = await compile()
  assert.equal(await compile(), first)
  write('src/word.ts', "export const word = () => 'other'\n")
  const second = await compile()
  assert.equal((await load(second)).said, 'other')
  assert.equal((await load(first)).said, 'first', 'what runs finds its parts')
  const home = resolve(second!, '..')
  assert.deepEqual(
    readdirSync(home).filter((name) => name.includes('part')),
    [],
  )
  rmSync(join(root, 'src/word.ts'))
  await assert.rejects(compile(), /Could not resolve "\.\/word\.ts"/)
})

test('the program and its packages compile, and a package that esbuild cannot compile is an error', async (t) => {
  const { compiledProgram: compileOurs } = (await import(String(PROGRAM))) as {
    compiledProgram: () => Promise<string | undefined>
  }
  const dir = await compileOurs()
  assert.ok(readdirSync(dir!).includes('main.mjs'))
  const { root, write, compile } = project(t)
  write('src/word.ts', "import native from './native.node'\nexport const word = () => String(native)\n")
  writeFileSync(join(root, 'src/native.node'), '')
  await assert.rejects(compile(), /No loader is configured for "\.node" files/)
})

test('a copy of the folder that keeps whole seconds of times is as compiled', async (t) => {
  const { root, compile } = project(t)
  const source = join(root, 'src/word.ts')
  utimesSync(source, PAST.getTime() / 1_000 + 0.25, PAST.getTime() / 1_000 + 0.25)
  const first = await compile()
  utimesSync(source, PAST, PAST)
  assert.equal(await compile(), first)
})

test('many that compile at once end with one', async (t) => {
  const { compile, load } = project(t)
  const dirs = await Promise.all([compile(), compile(), compile()])
  assert.equal(new Set(dirs).size, 1)
  assert.equal((await load(dirs[0])).said, 'first')
})

test('what compiles ends with its work', { skip: process.platform !== 'linux' && 'looks into /proc' }, async (t) => {
  const { root } = project(t)
  // Without the hook for TypeScript, which has a compiler of its own.
  const script = `
    import { readFileSync } from 'node:fs'
    import { setTimeout as sleep } from 'node:timers/promises'
    import { compiledProgram } from ${JSON.stringify(String(PROGRAM))}
    const options = { root: ${JSON.stringify(root)}, entries: ['main.ts'] }
    const compiled = await Promise.all([compiledProgram(options), compiledProgram(options)])
    const children = () => readFileSync('/proc/self/task/' + process.pid + '/children', 'latin1')
    for (let turn = 0; turn < 500 && children() !== ''; turn++) await sleep(20)
    console.log(JSON.stringify({ compiled: compiled.every(Boolean), children: children() }))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  assert.deepEqual(JSON.parse(stdout), { compiled: true, children: '' })
})

test('where nothing can be written there is none', async (t) => {
  const { root, compile } = project(t)
  rmSync(join(root, 'node_modules'), { recursive: true })
  writeFileSync(join(root, 'node_modules'), '')
  assert.equal(await compile(), undefined)
})
