import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

/* Holds the pages for maintainers to what the repository holds. test/unit/config/readme.test.ts does it for settings. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PAGES = ['README.md', 'src/README.md', 'pipelines/README.md', 'test/README.md', 'bench/README.md']

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** A fence whose first line names a file, ` in part` when the block is a passage of it. */
const QUOTE = /^```\w+ (\S+\.\w+)( in part)?\n(.*?)^```$/gms

interface Quote {
  readonly page: string
  readonly path: string
  readonly isPart: boolean
  readonly text: string
}

function quotesOf(page: string): Quote[] {
  return [...read(page).matchAll(QUOTE)].map(([, path, part, text]) => {
    return { page, path: path!, isPart: part !== undefined, text: text! }
  })
}

test('a code block that names a file is that file, or a passage of it', () => {
  const quotes = PAGES.flatMap(quotesOf)
  for (const { page, path, isPart, text } of quotes) {
    const content = read(path)
    if (isPart) assert.ok(content.includes(text), `${page} quotes what ${path} does not say: ${text}`)
    else assert.equal(text, content, `${page} quotes ${path}`)
  }
  const quoted = quotes.map(({ path }) => path)
  for (const name of ['filter-bots.ts', 'filter-bots.test.ts', 'ndjson-destination.ts']) {
    assert.ok(quoted.includes(`test/example/${name}`), `the worked example shows ${name}`)
  }
})

/** Inline code that is a path, from the root or from the page's folder: a file of ours, or a folder with its slash. */
const PATH = /`((?:[\w.-]+\/)*[\w.-]+\.(?:ts|mjs|lua|sql|md)|(?:[\w.-]+\/)+)`/g

test('a file or folder that a page names is there', () => {
  const missing = PAGES.flatMap((page) =>
    [...read(page).matchAll(PATH)]
      .map(([, path]) => path!)
      .filter((path) => !existsSync(join(ROOT, path)) && !existsSync(join(ROOT, dirname(page), path)))
      .map((path) => `${page}: ${path}`),
  )
  assert.deepEqual(missing, [])
})

test('the map of rooms names every room', () => {
  const map = read('src/README.md')
  const missing = readdirSync(join(ROOT, 'src'), { withFileTypes: true })
    .filter(({ name }) => name !== 'README.md')
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((room) => !map.includes(`\`${room}`))
  assert.deepEqual(missing, [])
})

test('no text asks a reader to fetch ipid from a registry', () => {
  // The registry has no package of this name that is ours: npx would run a stranger's.
  const { stdout } = spawnSync('git', ['grep', '-nE', 'np[x] +ipid', '--', '.'], { cwd: ROOT, encoding: 'utf8' })
  assert.equal(stdout, '')
})

/** A relative path of a file or folder in a command: it has a slash or the ending of a file that a user makes. */
const LOCAL_PATH =
  /(?<![\w/:.=~@-])(?:\.\/)?[\w-]+(?:\/[\w.-]+)+|(?<![\w/:.=@*-])[\w-]+\.(?:csv|ndjson|gz|mmdb|json)\b/g

test('what the commands of README.md write into the checkout is ignored by git', () => {
  const blocks = [...read('README.md').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text]) => text!)
  const commands = blocks
    .flatMap((text) => text.split('\n'))
    .filter((line) => /^(?:\w+=\S+ )*(?:\.\/ipid|npm|cat)\b/.test(line))
  const paths = commands
    .map((line) => line.replace(/\s#.*$/, ''))
    .flatMap((line) =>
      [...line.matchAll(LOCAL_PATH), ...line.matchAll(/(?<=DATA_DIR=|ENRICH_DIR=)\S+/g)].map(([path]) => path),
    )
    .filter((path) => !existsSync(join(ROOT, path)) || path.startsWith('data'))
  assert.ok(paths.includes('data/visits.csv'), `the pattern finds paths: ${paths}`)
  const ignored = spawnSync('git', ['check-ignore', '--no-index', '--stdin'], {
    cwd: ROOT,
    input: paths.join('\n'),
    encoding: 'utf8',
  })
  assert.deepEqual(
    [...new Set(paths)].filter((path) => !ignored.stdout.split('\n').includes(path)),
    [],
  )
})
