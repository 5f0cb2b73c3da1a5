import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

/*
 * Holds the directions of the house:
 * schemas ← core ← {runner, stages, adapters} ← pipelines ← roles ← app ← main. A finding names file, line and rule.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface Import {
  readonly file: string
  readonly line: number
  /** Path from the root, or the name of a package. */
  readonly target: string
}

/** What everybody may know: shapes, types and pure functions. */
const BASE = ['schemas', 'src/core']

/** What rooms that work on several stores ask of each. */
const PORTS = [
  ...['backup', 'replay', 'receipts', 'reenrich'].map((room) => `src/${room}/ports.ts`),
  ...['src/erasure', 'src/retention', 'src/dashboard/server'],
]

/** What everybody in the room of enrichment may know. */
const ENRICHMENT_BASE = [
  ...['src/enrichment/addresses', 'src/enrichment/rules'],
  ...['src/enrichment/facts.ts', 'src/enrichment/bounded-cache.ts', 'src/enrichment/time-slice.ts'],
]

/**
 * What each room may import from, besides itself. The first entry that holds a file is its room; a file without one is a
 * finding. An adapter names another one only for a port that the other declares.
 */
const ROOMS: readonly (readonly [room: string, targets: readonly string[]])[] = [
  ['schemas', []],
  ['src/core', ['schemas']],
  ['src/telemetry', BASE],
  ['src/runner', BASE],
  ['src/stages', BASE],
  ['src/tenants', [...BASE, 'src/runner/loop.ts']],
  ['src/ingest', BASE],
  ['src/lookup', [...BASE, 'src/runner/loop.ts']],
  ['src/enrichment/addresses', BASE],
  ['src/enrichment/rules', BASE],
  ['src/enrichment/providers', [...BASE, ...ENRICHMENT_BASE]],
  ['src/enrichment/files', [...BASE, ...ENRICHMENT_BASE, 'src/enrichment/providers', 'src/enrichment/limits.ts']],
  ['src/enrichment/answers', [...BASE, ...ENRICHMENT_BASE, 'src/enrichment/providers', 'src/lookup']],
  ['src/enrichment', [...BASE, 'src/lookup', 'src/runner/loop.ts']],
  ['src/batch', [...BASE, 'src/ingest', 'src/runner/loop.ts']],
  ['src/backup', BASE],
  ['src/replay', [...BASE, 'src/ingest', 'src/runner/loop.ts']],
  ['src/receipts', BASE],
  ['src/reenrich', BASE],
  ['src/erasure', BASE],
  ['src/retention', [...BASE, 'src/runner/loop.ts']],
  ['src/status', [...BASE, 'src/runner/loop.ts']],
  [
    'src/redis',
    [
      ...BASE,
      'src/runner',
      'src/stages',
      'src/ingest',
      'src/batch',
      'src/lookup',
      'src/tenants',
      'src/status',
      ...PORTS,
    ],
  ],
  ['src/clickhouse', [...BASE, 'src/runner', 'src/status', ...PORTS]],
  ['src/archive', [...BASE, 'src/runner/loop.ts', ...PORTS]],
  ['src/http/engine', BASE],
  [
    'src/http/api',
    [...BASE, 'src/http/engine', 'src/ingest', 'src/lookup', 'src/batch', 'src/receipts', 'src/tenants'],
  ],
  [
    'src/dashboard/server',
    [
      ...[...BASE, 'src/http', 'src/tenants', 'src/lookup', 'src/batch', 'src/status', 'src/runner/loop.ts'],
      ...['src/bootstrap/compile.mjs', 'src/dashboard/pages'],
    ],
  ],
  ['src/dashboard/pages', ['schemas']],
  ['src/embedded', [...BASE, 'src/telemetry', 'src/runner/loop.ts', 'src/bootstrap/program.mjs']],
  ['pipelines', [...BASE, 'src/runner', 'src/stages', 'src/ingest', 'src/batch', 'src/clickhouse', 'src/archive']],
  ['src/config', [...BASE, 'src/tenants/plans.ts']],
  [
    'src/roles',
    [
      ...BASE,
      ...['src/telemetry', 'src/config', 'src/runner', 'src/stages', 'src/ingest', 'src/lookup', 'src/batch'],
      ...['src/receipts', 'src/retention', 'src/enrichment', 'src/tenants', 'src/redis', 'src/clickhouse'],
      ...['src/archive', 'src/http', 'src/dashboard/server', 'src/status', 'pipelines'],
    ],
  ],
  ['src/app.ts', [...BASE, 'src/config', 'src/roles', 'pipelines']],
  ['src/cli', ['schemas', 'src', 'pipelines']],
  ['src/main.ts', ['src/cli', 'src/app.ts']],
  ['src/bootstrap', ['src/embedded/processes', 'src/embedded/redis']],
  ['src/bootstrap.mjs', ['src/bootstrap', 'src/main.ts']],
  ['src/ipid.mjs', ['src/main.ts', 'src/bootstrap/packages.mjs', 'src/bootstrap/program.mjs']],
]

/** Only these see the environment. */
const READS_ENVIRONMENT = ['src/main.ts', 'src/config', 'src/bootstrap.mjs', 'src/bootstrap', 'src/ipid.mjs']

/** Packages that a single place knows, and who may know that place. */
const ENCLOSED: readonly (readonly [name: string, place: string, chosenIn: readonly string[]])[] = [
  ['uWebSockets.js', 'src/http/engine/uws', ['src/http/engine/choose.ts']],
  ['@aws-sdk/client-s3', 'src/archive/s3-store.ts', ['src/archive/destination.ts']],
]

/** Scripts: what a process starts with. Nobody imports them but who starts the process. */
const ENTRIES = ['src/main.ts', 'src/bootstrap.mjs', 'src/ipid.mjs', 'src/embedded/clickhouse/process.ts']

const LINES_MAX = 300

const FILES = ['schemas', 'pipelines', 'src'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.m?[tj]sx?$/.test(name) && !/\.d\.m?ts$/.test(name))
    .map((name) => `${folder}/${name}`),
)

const STATIC = /^\s*(?:import|export)\s+[^'"]*?from\s+['"]([^'"]+)['"]|^\s*import\s+['"]([^'"]+)['"]/
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g

function importsOf(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const found: Import[] = []
  const add = (offset: number, specifier: string) => {
    const line = text.slice(0, offset).split('\n').length
    const target = specifier.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(file), specifier)) : specifier
    found.push({ file, line, target })
  }
  for (const match of text.matchAll(new RegExp(STATIC, 'gm'))) {
    add(match.index + match[0].length, (match[1] ?? match[2])!)
  }
  for (const match of text.matchAll(DYNAMIC)) add(match.index, match[1]!)
  return found
}

const IMPORTS = FILES.flatMap(importsOf)

function inside(path: string, place: string): boolean {
  return path === place || path.startsWith(place.endsWith('/') ? place : `${place}/`)
}

function finding({ file, line, target }: Import, rule: string): string {
  return `${file}:${line} imports ${target}: ${rule}`
}

test('finds the imports that it is to judge', () => {
  const targets = importsOf('src/cli/start/role.ts').map(({ target }) => target)
  assert.ok(targets.includes('src/config/config.ts') && targets.includes('pino') && targets.includes('src/app.ts'))
})

test('imports point one way, and every file has a room', () => {
  const roomOf = (file: string) => ROOMS.find(([room]) => inside(file, room))
  const homeless = FILES.filter((file) => roomOf(file) === undefined).map((file) => `${file}: its room has no rule`)
  const findings = IMPORTS.filter(({ target }) => /^(schemas|pipelines|src)\//.test(target)).flatMap((found) => {
    const [room, targets] = roomOf(found.file) ?? ['', []]
    if ([room, ...targets].some((place) => inside(found.target, place))) return []
    return [finding(found, `${room} may import from ${targets.join(', ') || 'nowhere'}`)]
  })
  assert.deepEqual([...homeless, ...findings], [])
})

test('what a process starts with is not imported by its parts', () => {
  const above = ['src/app.ts', 'src/cli', ...ENTRIES]
  const mayImport = ['src/cli', ...ENTRIES]
  const findings = IMPORTS.filter(({ target }) => above.some((place) => inside(target, place)))
    .filter(({ file }) => !mayImport.some((place) => inside(file, place)))
    .map((found) => finding(found, 'only main and the command line stand above app'))
  assert.deepEqual(findings, [])
})

test('what stands for a package alone is known where it is chosen', () => {
  for (const [name, place, chosenIn] of ENCLOSED) {
    const users = IMPORTS.filter(({ target }) => target === name)
    assert.ok(users.some(({ file }) => inside(file, place)))
    const findings = [
      ...users.filter(({ file }) => !inside(file, place)).map((found) => finding(found, `only ${place} knows it`)),
      ...IMPORTS.filter(({ file, target }) => inside(target, place) && !inside(file, place))
        .filter(({ file }) => !chosenIn.includes(file))
        .map((found) => finding(found, `only ${chosenIn.join(', ')} may know that room`)),
    ]
    assert.deepEqual(findings, [])
  }
})

test('no file is imported that is not there', () => {
  const findings = IMPORTS.filter(({ target }) => /^(schemas|pipelines|src)\//.test(target))
    .filter(({ target }) => !existsSync(join(ROOT, target)))
    .map((found) => finding(found, 'there is no such file'))
  assert.deepEqual(findings, [])
})

test('the environment is read in main and config only', () => {
  const findings = FILES.filter((file) => !READS_ENVIRONMENT.some((place) => inside(file, place))).flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .flatMap((text, i) =>
        /\bprocess\s*(\.|\[['"])env\b/.test(text) ? [`${file}:${i + 1}: process.env is for main.ts and config.ts`] : [],
      ),
  )
  assert.deepEqual(findings, [])
})

test('there are no cycles, of types neither', () => {
  const edges = new Map<string, string[]>()
  for (const { file, target } of IMPORTS) edges.set(file, [...(edges.get(file) ?? []), target])
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (file: string, way: readonly string[]) => {
    if (way.includes(file)) cycles.push([...way.slice(way.indexOf(file)), file].join(' → '))
    if (done.has(file)) return
    done.add(file)
    for (const target of edges.get(file) ?? []) visit(target, [...way, file])
  }
  for (const file of FILES) visit(file, [])
  assert.deepEqual(cycles, [])
})

test('a file holds one idea', () => {
  const findings = FILES.map((file) => [file, readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1] as const)
    .filter(([, lines]) => lines > LINES_MAX)
    .map(([file, lines]) => `${file} has ${lines} lines`)
  assert.deepEqual(findings, [])
})

test('product code prints through its logger or its streams', () => {
  const findings = FILES.flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .flatMap((text, i) => (/\bconsole\.\w+\(/.test(text) ? [`${file}:${i + 1}: console`] : [])),
  )
  assert.deepEqual(findings, [])
})
