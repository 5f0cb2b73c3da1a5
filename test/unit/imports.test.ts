import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

/*
 * Holds the directions of the house: schemas ← core ← {runner, stages, adapters, pipelines} ← app ← main. A finding
 * names file, line and rule.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface Import {
  readonly file: string
  readonly line: number
  /** Path from the root, or the name of a package. */
  readonly target: string
  readonly typeOnly: boolean
}

/** Rooms of adapters: what speaks to the world. */
const ADAPTERS = ['http', 'tenants', 'redis', 'clickhouse', 'enrichment', 'batch', 'archive', 'embedded']

/** An adapter that implements ports, and where they are declared. */
const PORTS: Readonly<Record<string, readonly string[]>> = {
  redis: ['src/stages/', 'src/clickhouse/sink-source.ts', 'src/tenants/stores.ts', 'src/batch/', 'src/archive/'],
  http: ['src/tenants/', 'src/batch/', 'src/archive/'],
}

/** What each room may import from, besides itself. Adapters get their rules below. */
const MAY_IMPORT: readonly (readonly [room: string, targets: readonly string[]])[] = [
  ['schemas', []],
  ['src/core', ['schemas']],
  ['pipelines', ['schemas', 'src/core']],
  ['src/runner', ['schemas', 'src/core', 'pipelines']],
  ['src/stages', ['schemas', 'src/core', 'src/runner']],
  ['src/telemetry', ['schemas', 'src/core']],
  ['src/config', ['src/core']],
  ['src/config.ts', ['src/core', 'src/config']],
  ...ADAPTERS.map(
    (room) =>
      [
        `src/${room}`,
        ['schemas', 'src/core', 'src/runner', 'src/telemetry', 'pipelines', ...(PORTS[room] ?? [])],
      ] as const,
  ),
]

/** Only these see the environment. */
const READS_ENVIRONMENT = ['src/main.ts', 'src/config.ts', 'src/bootstrap.mjs', 'src/bootstrap/', 'src/ipid.mjs']

/** Scripts: what a process starts with. Nobody imports them but who starts the process. */
const ENTRIES = ['src/main.ts', 'src/bootstrap.mjs', 'src/ipid.mjs', 'src/embedded/clickhouse/process.ts']

const FILES = ['schemas', 'pipelines', 'src'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.m?[tj]s$/.test(name) && !/\.d\.m?ts$/.test(name))
    .map((name) => `${folder}/${name}`),
)

const STATIC = /^\s*(?:import|export)\s+(type\s)?[^'"]*?from\s+['"]([^'"]+)['"]|^\s*import\s+['"]([^'"]+)['"]/
const DYNAMIC = /(typeof )?\bimport\(\s*['"]([^'"]+)['"]\s*\)/g

function importsOf(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const found: Import[] = []
  const add = (offset: number, specifier: string, typeOnly: boolean) => {
    const line = text.slice(0, offset).split('\n').length
    const target = specifier.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(file), specifier)) : specifier
    found.push({ file, line, target, typeOnly })
  }
  for (const match of text.matchAll(new RegExp(STATIC, 'gm'))) {
    add(match.index + match[0].length, (match[2] ?? match[3])!, match[1] !== undefined)
  }
  for (const match of text.matchAll(DYNAMIC)) add(match.index, match[2]!, match[1] !== undefined)
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
  const targets = importsOf('src/cli/role.ts').map(({ target }) => target)
  assert.ok(targets.includes('src/config.ts') && targets.includes('pino') && targets.includes('src/app.ts'))
})

test('imports point one way', () => {
  const findings = IMPORTS.filter(({ target }) => /^(schemas|pipelines|src)\//.test(target)).flatMap((found) => {
    const rule = MAY_IMPORT.find(([room]) => inside(found.file, room))
    if (rule === undefined) return []
    const [room, targets] = rule
    if ([room, ...targets].some((place) => inside(found.target, place))) return []
    return [finding(found, `${room} may import from ${targets.join(', ') || 'nowhere'}`)]
  })
  assert.deepEqual(findings, [])
})

test('what a process starts with is not imported by its parts', () => {
  const above = ['src/app.ts', 'src/cli.ts', 'src/cli/', ...ENTRIES]
  const mayImport = ['src/main.ts', 'src/cli.ts', 'src/cli/', ...ENTRIES]
  const findings = IMPORTS.filter(({ target }) => above.some((place) => inside(target, place)))
    .filter(({ file }) => !mayImport.some((place) => inside(file, place)))
    .map((found) => finding(found, 'only main and the command line stand above app'))
  assert.deepEqual(findings, [])
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

test('there are no cycles', () => {
  const edges = new Map<string, string[]>()
  for (const { file, target, typeOnly } of IMPORTS) {
    if (!typeOnly) edges.set(file, [...(edges.get(file) ?? []), target])
  }
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

test('product code prints through its logger or its streams', () => {
  const findings = FILES.flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .flatMap((text, i) => (/\bconsole\.\w+\(/.test(text) ? [`${file}:${i + 1}: console`] : [])),
  )
  assert.deepEqual(findings, [])
})
