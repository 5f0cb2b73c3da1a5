import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Logger } from 'pino'
import { type Compilation, compiled, compiledFiles } from '../../bootstrap/compile.mjs'
import { StartupError } from '../../run/errors.ts'

const PAGES = join('src', 'dashboard', 'pages')
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.html': 'text/html; charset=utf-8',
}

/** A file of the pages, as it is sent. */
export interface PageFile {
  readonly type: string
  readonly plain: Buffer
  readonly gzip: Buffer
  readonly brotli: Buffer
}

/** What the browser is given. Names of `assets` tell their content, so that they never change. */
export interface PageFiles {
  readonly index: PageFile
  readonly assets: ReadonlyMap<string, PageFile>
}

/**
 * Compiles the pages, unless that was done for their sources as they are, and reads them. Where nothing can be written they are
 * compiled at every start, which is logged.
 * @throws StartupError when they cannot be compiled
 */
export async function loadPageFiles(log: Pick<Logger, 'warn'>, root = ROOT): Promise<PageFiles> {
  const compile = compiledFiles(compilation(root), (error) => {
    log.warn({ reason: error.message }, 'the compiled pages of the dashboard cannot be kept: each start compiles them')
  })
  const files = await orCannotStart(compile, root)
  const names = [...files.keys()].filter((name) => extname(name) in TYPES)
  const assets = new Map(names.map((name) => [name, pageFile(name, files.get(name)!)]))
  const named = (end: string) => names.find((name) => name.startsWith('main-') && name.endsWith(end))!
  const html = readFileSync(join(root, PAGES, 'index.html'), 'utf8')
    .replace('main.tsx', `/assets/${named('.js')}`)
    .replace('main.css', `/assets/${named('.css')}`)
  return { index: pageFile('index.html', Buffer.from(html)), assets }
}

/** Called when an image is built. @returns the folder. @throws StartupError also when nothing can be written */
export async function compilePages(): Promise<string> {
  return await orCannotStart(compiled(compilation(ROOT)), ROOT)
}

function compilation(root: string): Compilation {
  const tsconfig = join(PAGES, 'tsconfig.json')
  const options: Compilation['options'] = {
    entryPoints: [join(root, PAGES, 'main.tsx')],
    entryNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    tsconfig: join(root, tsconfig),
    jsx: 'automatic',
    jsxImportSource: 'preact',
  }
  return { root, name: 'pages', options, alsoInputs: [tsconfig] }
}

async function orCannotStart<T>(work: Promise<T>, root: string): Promise<T> {
  try {
    return await work
  } catch (error) {
    const { message } = error as Error
    throw new StartupError(`the pages of the dashboard cannot be compiled in ${join(root, PAGES)}: ${message}`)
  }
}

function pageFile(name: string, plain: Buffer): PageFile {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }
  return { type: TYPES[extname(name)]!, plain, gzip: gzipSync(plain), brotli: brotliCompressSync(plain, quality) }
}
