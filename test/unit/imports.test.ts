import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

/*
 * Checks the structure of src: the order of the rooms, the readers of the environment, and enclosed packages.
 * A finding names file, line and rule.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface Import {
  readonly file: string
  readonly line: number
  /** Path from the root, or the name of a package. */
  readonly target: string
}

/**
 * The rooms from the ground up, as the table of src/README.md lists them. A file imports from its own room and from earlier ones,
 * never from later ones. The longest matching path is a file's room; a `*` is any folder. So the rules, the commands and the role of
 * a subject share a folder and still have different heights.
 */
const ROOMS = readFileSync(join(ROOT, 'src/README.md'), 'utf8')
  .split('\n## ')
  .find((section) => section.startsWith('Rooms\n'))!
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((line) => [...line.split(' | ')[0]!.matchAll(/`([^`]+?)\/?`/g)].map(([, path]) => path!))
  .map((path) => (/^(schemas|pipelines)$/.test(path) ? path : `src/${path}`))

/** Only these read the environment. */
/** `choose.ts` sets a variable for uWebSockets.js, which takes no option. */
const READS_ENVIRONMENT = [
  ...['src/main.ts', 'src/config', 'src/bootstrap.mjs', 'src/bootstrap', 'src/ipid.mjs'],
  'src/http/engine/choose.ts',
]

/** Packages that a single place knows, and the places that may use it. */
const ENCLOSED: readonly (readonly [name: string, place: string, chosenIn: readonly string[]])[] = [
  ['uWebSockets.js', 'src/http/engine/uws', ['src/http/engine/choose.ts']],
  [
    '@aws-sdk/client-s3',
    'src/stores/objects/s3-store.ts',
    ['src/pipeline/sinks/archive/destination.ts', 'src/pipeline/sources/s3.ts'],
  ],
]

/** Entry points of processes. Only the code that starts the process imports them. */
const ENTRIES = [
  'src/main.ts',
  'src/child.ts',
  'src/bootstrap.mjs',
  'src/ipid.mjs',
  'src/embedded/clickhouse/process.ts',
]

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

test('the imports to check are found', () => {
  const targets = importsOf('src/cli/start/run-roles.ts').map(({ target }) => target)
  assert.ok(targets.includes('src/config/config.ts') && targets.includes('pino') && targets.includes('src/app.ts'))
})

/** The place of a file's room in `ROOMS`; -1 when it has none. */
function heightOf(file: string): number {
  const part = /\/(role|commands)(?:\.ts|\/)/.exec(file)
  if (part !== null && file.startsWith('src/')) return ROOMS.indexOf(`src/*/${part[1]}`)
  const room = ROOMS.filter((room) => inside(file, room)).sort((a, b) => b.length - a.length)[0]
  return room === undefined ? -1 : ROOMS.indexOf(room)
}

test('imports point one way, and every file has a room', () => {
  const homeless = FILES.filter((file) => heightOf(file) === -1).map((file) => `${file}: its folder is in no room`)
  const findings = IMPORTS.filter(({ target }) => /^(schemas|pipelines|src)\//.test(target))
    .filter(({ file, target }) => heightOf(target) > heightOf(file))
    .map((found) => finding(found, `${ROOMS[heightOf(found.file)]} lies below ${ROOMS[heightOf(found.target)]}`))
  assert.deepEqual([...homeless, ...findings], [])
})

test('the entry point of a process is not imported by its parts', () => {
  const mayImport = ['src/cli', ...ENTRIES]
  const findings = IMPORTS.filter(({ target }) => ENTRIES.some((place) => inside(target, place)))
    .filter(({ file }) => !mayImport.some((place) => inside(file, place)))
    .map((found) => finding(found, 'a process starts with it'))
  assert.deepEqual(findings, [])
})

test('the wrapper of a package is known only where it is chosen', () => {
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

test('every imported file exists', () => {
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

test('there are no cycles, not even of types', () => {
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

test('product code prints through its logger or its streams', () => {
  const findings = FILES.flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .flatMap((text, i) => (/\bconsole\.\w+\(/.test(text) ? [`${file}:${i + 1}: console`] : [])),
  )
  assert.deepEqual(findings, [])
})
