import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
const HEALTH = join(ROOT, 'src/process/image/health.mjs')

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const run = (program: string, args: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) =>
  new Promise<Ran>((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })

test('the image is built from one pinned base, without what only its build needs, and runs as a user', () => {
  assert.match(dockerfile, /^ARG BASE=docker\.io\/library\/node:24\.\d+\.\d+-trixie-slim@sha256:[0-9a-f]{64}$/m)
  assert.match(dockerfile, /^FROM \$\{BASE\} AS build$/m)
  const [first, last] = dockerfile.split(/^FROM \$\{BASE\}$/m)
  assert.doesNotMatch(last!, /^FROM|npm install/m)
  assert.match(first!, /npm sbom /)
  for (const line of ['USER node', 'STOPSIGNAL SIGTERM', 'ENTRYPOINT ["ipid"]', 'CMD ["start"]'])
    assert.ok(last!.split('\n').includes(line), line)
  assert.match(last!, /rm -rf \/usr\/local\/lib\/node_modules /)
  for (const label of ['title', 'description', 'version', 'revision', 'base.name'])
    assert.ok(last!.includes(`org.opencontainers.image.${label}="`), label)
})

test('packages that the image leaves out are names of packages', () => {
  const [, names] = /npm pkg delete (.+?) \\/.exec(dockerfile)!
  const packages = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, object>
  for (const path of names!.split(' ')) {
    const [group, name] = path.split('.')
    assert.ok(name === undefined ? packages[group!] : Object.hasOwn(packages[group!]!, name), path)
  }
})

test('the health of a container is GET /readyz of its port', async (t) => {
  let status = 200
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url!)
    response.writeHead(status).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const port = String((server.address() as AddressInfo).port)
  const byFlag = () => run(process.execPath, [HEALTH, port])
  assert.equal((await byFlag()).code, 0)
  status = 503
  assert.equal((await byFlag()).code, 1)
  assert.deepEqual(asked, ['/readyz', '/readyz'])
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
  const { code, stderr } = await byFlag()
  assert.equal(code, 1)
  assert.match(stderr, new RegExp(`^port ${port} does not answer: connect ECONNREFUSED`))
})

/** A repository of this script, and engines that print their arguments. */
function checkout(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-image-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const script = join(dir, 'src/process/image/build')
  mkdirSync(dirname(script), { recursive: true })
  cpSync(join(ROOT, 'src/process/image/build'), script)
  writeFileSync(join(dir, 'package.json'), '{\n  "version": "3.4.5",\n  "private": true\n}\n')
  const bin = join(dir, '.git-ignored-bin')
  mkdirSync(bin)
  for (const name of ['docker', 'podman']) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho "${name} $*"\n`)
    chmodSync(join(bin, name), 0o755)
  }
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: dir,
      encoding: 'utf8',
    })
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'first')
  const revision = git('rev-parse', '--short=12', 'HEAD').trim()
  const build = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    run(script, args, { env: { PATH: `${bin}:${process.env.PATH}`, ...env } })
  return { dir, revision, build }
}

test('the build names an image by version and commit, and a release by its version', async (t) => {
  const { dir, revision, build } = checkout(t)
  const plain = await build([], { BASE: 'other' })
  const labels = `--build-arg VERSION=3.4.5 --build-arg REVISION=${revision}`
  const tags = [`ipid:3.4.5-${revision}`, 'ipid:latest']
  assert.deepEqual(plain.stdout.trim().split('\n'), [
    `docker build --build-arg BASE=other ${labels} --tag=${tags[0]} --tag=${tags[1]} .`,
    ...tags,
  ])
  const release = await build(['--release', 'registry.example.com/ipid'], { ENGINE: 'podman' })
  const names = ['registry.example.com/ipid:3.4.5', 'registry.example.com/ipid:3.4']
  assert.deepEqual(release.stdout.trim().split('\n'), [
    `podman build --format docker ${labels} --tag=${names[0]} --tag=${names[1]} .`,
    ...names,
  ])
  writeFileSync(join(dir, 'package.json'), '{\n  "version": "3.4.5",\n  "other": true\n}\n')
  assert.match((await build([])).stdout, new RegExp(`ipid:3\\.4\\.5-${revision}-changed\n`))
  const refused = await build(['--release'])
  assert.deepEqual([refused.code, refused.stdout], [2, ''])
  assert.match(refused.stderr, /^build: these files are not as in the last commit, .*:\n M package\.json$/m)
  writeFileSync(join(dir, 'package.json'), '{\n  "version": "3.4.5",\n  "private": true\n}\n')
  writeFileSync(join(dir, '.git/info/exclude'), '.env\n')
  writeFileSync(join(dir, 'src/.env'), 'SECRETS_KEY=1\n')
  assert.match((await build(['--release'])).stderr, /\n!! src\/\.env$/m)
  assert.match((await build(['--help'])).stderr, /^build: takes \[--release\] \[NAME\]/)
})
