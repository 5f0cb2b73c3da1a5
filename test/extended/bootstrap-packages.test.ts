import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isAlive, processesNaming } from '../support/processes.ts'
import { until } from '../support/until.ts'

const run = promisify(execFile)
const PACKAGES = new URL('../../src/bootstrap/packages.mjs', import.meta.url).href
const SCRIPT = `const { ensurePackages } = await import(${JSON.stringify(PACKAGES)})
await ensurePackages({ withDev: false, root: process.argv[1] })`

/** A package that depends on a local one, so that npm needs no network. Each call of npm takes a second. */
async function makeTemplate(): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), 'ipid-packages-'))
  after(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(join(root, 'part'))
  writeFileSync(join(root, 'part/package.json'), '{"name":"part","version":"1.0.0"}')
  await run('npm', ['pack', './part', '--silent'], { cwd: root })
  writeFileSync(
    join(root, 'package.json'),
    '{"name":"root","version":"1.0.0","dependencies":{"part":"file:part-1.0.0.tgz"}}',
  )
  await run('npm', ['install', '--package-lock-only', '--silent', '--offline'], { cwd: root })
  return root
}

const template = await makeTemplate()

function makeRoot(t: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), 'ipid-packages-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  cpSync(template, root, { recursive: true })
  return root
}

/** Runs the bootstrap's first step in its own process and returns its output. */
/** The script ends with an unhandled rejection where an installation fails, which a test would report. */
const MAY_FAIL = { NODE_OPTIONS: '' }

async function ensure(root: string, path = process.env.PATH): Promise<string> {
  const env = { PATH: path, HOME: root, ...MAY_FAIL }
  const { stderr } = await run(process.execPath, ['--input-type=module', '-e', SCRIPT, root], { env })
  return stderr
}

/** A folder whose npm is this shell script. */
function fakeNpm(root: string, script: string): string {
  const bin = join(root, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return `${bin}:${process.env.PATH}`
}

const INSTALLS = /installing packages/

test('missing packages are installed once, and again when one is gone or the lock file changed', async (t) => {
  const root = makeRoot(t)
  assert.match(await ensure(root), INSTALLS)
  assert.ok(existsSync(join(root, 'node_modules/part/package.json')))
  assert.equal(await ensure(root), '')

  rmSync(join(root, 'node_modules/part'), { recursive: true })
  assert.match(await ensure(root), INSTALLS)
  assert.ok(existsSync(join(root, 'node_modules/part/package.json')))

  const tree = join(root, 'node_modules/.package-lock.json')
  const whole = readFileSync(tree, 'utf8')
  writeFileSync(tree, whole.slice(0, whole.length / 2))
  assert.match(await ensure(root), INSTALLS)

  writeFileSync(tree, whole.replaceAll('"1.0.0"', '"0.9.0"'))
  assert.match(await ensure(root), INSTALLS)
  assert.equal(await ensure(root), '')
})

test('of several processes at once, one installs and the others wait for it', async (t) => {
  const root = makeRoot(t)
  const said = await Promise.all([ensure(root), ensure(root), ensure(root)])
  assert.equal(said.filter((text) => INSTALLS.test(text)).length, 1)
  assert.ok(existsSync(join(root, 'node_modules/part/package.json')))
})

test('a slow installation reports its progress', async (t) => {
  const root = makeRoot(t)
  const go = join(root, 'go')
  const npm = `while [ ! -e ${go} ]; do sleep 0.05; done; PATH="$OWN_PATH" exec npm "$@"`
  const script = SCRIPT.replace('withDev: false', 'withDev: false, sayEveryMs: 100')
  const env = { PATH: fakeNpm(root, npm), OWN_PATH: process.env.PATH, HOME: root }
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, root], { env })
  let said = ''
  child.stderr.on('data', (text) => {
    said += text
  })
  const ended = once(child, 'close')
  await until(() => [...said.matchAll(/still installing packages after \d+ s: 0 of 1 installed/g)].length >= 2)
  writeFileSync(go, '')
  assert.deepEqual((await ended)[0], 0, said)
  assert.ok(existsSync(join(root, 'node_modules/part/package.json')))
})

test('the lock of an installation is inside it, also when its path is long', async (t) => {
  const root = makeRoot(t)
  const long = join(root, 'long'.repeat(20))
  mkdirSync(long)
  for (const name of ['package.json', 'package-lock.json', 'part-1.0.0.tgz']) cpSync(join(root, name), join(long, name))
  const tmp = join(root, 'tmp')
  mkdirSync(tmp)
  // npm keeps a compile cache in TMPDIR from Node.js 22.8 on.
  const env = { PATH: process.env.PATH, HOME: root, TMPDIR: tmp, NODE_DISABLE_COMPILE_CACHE: '1' }
  // In the root folder, as npm runs a script.
  const options = { env, timeout: 60_000, cwd: long }
  const { stderr } = await run(process.execPath, ['--input-type=module', '-e', SCRIPT, long], options)
  assert.match(stderr, INSTALLS)
  assert.deepEqual([readdirSync(tmp), existsSync(join(long, '.ipid-install.sock'))], [[], false])
})

test('a killed installation ends with its npm, and is repeated', async (t) => {
  const root = makeRoot(t)
  assert.match(await ensure(root), INSTALLS)
  const whole = join(tmpdir(), `${root.split('/').at(-1)}-whole`)
  cpSync(join(root, 'node_modules'), whole, { recursive: true })
  t.after(() => rmSync(whole, { recursive: true, force: true }))
  rmSync(join(root, 'node_modules/part'), { recursive: true })

  const pidFile = join(root, 'npm.pid')
  const path = fakeNpm(root, `echo $$ > ${pidFile}.part; mv ${pidFile}.part ${pidFile}\nexec sleep 600`)
  const env = { PATH: path, ...MAY_FAIL }
  const child = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT, root], { env, stdio: 'ignore' })
  await until(() => existsSync(pidFile))
  const npm = Number(readFileSync(pidFile, 'utf8'))
  // Between the two processes there is a moment in which nothing ends the first one.
  await until(() => processesNaming(`ipid-leash\0${npm}\0`).length > 0)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await until(() => !isAlive(npm))

  // The installation looks whole except for the file that an installation removes first.
  cpSync(join(whole, 'part'), join(root, 'node_modules/part'), { recursive: true })
  assert.match(await ensure(root), INSTALLS)
})

test('a failed installation says why', async (t) => {
  const root = makeRoot(t)
  await assert.rejects(
    ensure(root, fakeNpm(root, 'exit 1')),
    /the packages cannot be installed: see the errors of npm above/,
  )
})

test('npm install repairs a lock file that npm ci refuses, and keeps existing files', async (t) => {
  const root = makeRoot(t)
  const lockFile = join(root, 'package-lock.json')
  const lock = JSON.parse(readFileSync(lockFile, 'utf8'))
  delete lock.packages['node_modules/part']
  writeFileSync(lockFile, JSON.stringify(lock))
  mkdirSync(join(root, 'node_modules/part'), { recursive: true })
  writeFileSync(join(root, 'node_modules/part/package.json'), '{"name":"part","version":"1.0.0"}')
  writeFileSync(join(root, 'node_modules/part/cut-short.node'), 'half')
  assert.match(await ensure(root), /Missing: part@(.*\n)*.*npm ci failed; trying npm install/)
  assert.ok(existsSync(join(root, 'node_modules/part/package.json')))
  assert.ok(!existsSync(join(root, 'node_modules/part/cut-short.node')))
  assert.deepEqual(JSON.parse(readFileSync(lockFile, 'utf8')), lock)
})

test('an unsuitable Node.js or system is refused before anything is installed', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'ipid-bare-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  cpSync(fileURLToPath(new URL('../../src', import.meta.url)), join(root, 'src'), { recursive: true })
  const attempt = async (pretend: string) => {
    const args = ['--import', `data:text/javascript,${pretend}`, 'src/bootstrap.mjs', 'start']
    return run(process.execPath, args, { cwd: root }).then(
      () => assert.fail('it started'),
      ({ code, stderr }: { code: number; stderr: string }) => [code, stderr],
    )
  }
  const ofVersion = (node: string) =>
    attempt(`Object.defineProperty(process,"versions",{value:{...process.versions,node:"${node}"}})`)
  for (const node of ['18.20.8', '20.11.1']) {
    assert.deepEqual(await ofVersion(node), [1, `ipid: needs Node.js 20.12 or newer; this is ${node}\n`])
  }
  assert.deepEqual(await attempt('Object.defineProperty(process,"platform",{value:"win32"})'), [
    1,
    'ipid: runs on Linux and macOS; this is win32 (on Windows: in WSL)\n',
  ])
  assert.ok(!existsSync(join(root, 'node_modules')))
})
