import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ReceiptStatus } from '../../schemas/api/receipt.ts'
import { PAGES, readDocument as read } from '../support/documents.ts'

/* Checks all pages against the repository. test/unit/config/readme.test.ts does it for settings. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

test('the first page and the page for maintainers stay under 200 lines', () => {
  for (const page of ['README.md', 'src/README.md']) assert.ok(read(page).split('\n').length <= 200, page)
})

test('the first page says the surprises: the type of session_id, the size of a request, limits', () => {
  const page = read('README.md')
  assert.match(page, /`session_id` is an \*\*integer\*\*/)
  assert.match(page, /A request takes \*\*100 events\*\*/)
  assert.match(page, /\(schemas\/README\.md#limits\)/)
})

/** The text of a page without its code blocks. */
function proseOf(page: string): string {
  return read(page).replaceAll(/^ *```.*?^ *```$/gms, '')
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const headings = [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!)
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\s-]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
}

test('a link leads to a file, a folder or a heading of this repository', () => {
  const links = PAGES.flatMap((page) =>
    [...proseOf(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)].map(([, path, anchor]) => {
      return { page, target: path === '' ? page : join(dirname(page), path!), anchor }
    }),
  )
  assert.ok(links.length > 40, 'the pattern finds links')
  const broken = links.filter(({ target, anchor }) => {
    if (!existsSync(join(ROOT, target))) return true
    return anchor !== undefined && !anchorsOf(target).has(anchor)
  })
  assert.deepEqual(broken, [])
})

test('every page is reachable from the first one', () => {
  const reached = new Set(['README.md'])
  for (const page of reached) {
    for (const [, path] of proseOf(page).matchAll(/\]\(([^):#]+\.md)(?:#[^)]+)?\)/g))
      reached.add(join(dirname(page), path!))
  }
  assert.deepEqual(
    PAGES.filter((page) => !reached.has(page)),
    [],
  )
})

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
    if (isPart) assert.ok(content.includes(text), `${page} quotes text that ${path} does not contain: ${text}`)
    else assert.equal(text, content, `${page} quotes ${path}`)
  }
  const quoted = quotes.map(({ path }) => path)
  for (const name of ['filter-staging.ts', 'filter-staging.test.ts', 'ndjson-destination.ts', 'visitor-source.ts']) {
    assert.ok(quoted.includes(`test/example/${name}`), `the worked example shows ${name}`)
  }
})

/** Inline code that is a path, from the root or from the page's folder: a file of ours, or a folder with its slash. */
const PATH = /`((?:[\w.-]+\/)*[\w.-]+\.(?:ts|mjs|lua|sql|md)|(?:[\w.-]+\/)+)`/g

test('every file or folder that a page names exists', () => {
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

test('the page about events in no account names each status of a receipt', () => {
  const page = read('src/operations/receipts/README.md')
  const missing = ReceiptStatus.enum.filter((status) => !page.includes(`\`${status}\``))
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

test('git ignores files that the commands of the pages write into the checkout', () => {
  const blocks = PAGES.flatMap((page) => [...read(page).matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text]) => text!))
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
