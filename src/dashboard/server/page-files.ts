import { readdirSync, readFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { type Compilation, compiled } from '../../bootstrap/compile.mjs'
import { StartupError } from '../../core/run/errors.ts'

const PAGES = fileURLToPath(new URL('../pages/', import.meta.url))
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
 * Compiles the pages, unless that was done for their sources as they are, and reads them.
 * @throws StartupError when they cannot be compiled
 */
export async function loadPageFiles(): Promise<PageFiles> {
  const dir = await compilePages()
  const names = readdirSync(dir).filter((name) => extname(name) in TYPES)
  const assets = new Map(names.map((name) => [name, pageFile(name, readFileSync(join(dir, name)))]))
  const named = (end: string) => names.find((name) => name.startsWith('main-') && name.endsWith(end))!
  const html = readFileSync(join(PAGES, 'index.html'), 'utf8')
    .replace('main.tsx', `/assets/${named('.js')}`)
    .replace('main.css', `/assets/${named('.css')}`)
  return { index: pageFile('index.html', Buffer.from(html)), assets }
}

/** Also called when an image is built. */
export async function compilePages(): Promise<string> {
  const options: Compilation['options'] = {
    entryPoints: [join(PAGES, 'main.tsx')],
    entryNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    tsconfig: join(PAGES, 'tsconfig.json'),
    jsx: 'automatic',
    jsxImportSource: 'preact',
  }
  try {
    return await compiled({ root: ROOT, name: 'pages', options, alsoInputs: ['src/dashboard/pages/tsconfig.json'] })
  } catch (error) {
    throw new StartupError(
      `the pages of the dashboard cannot be compiled in ${dirname(PAGES)}: ${(error as Error).message}`,
    )
  }
}

function pageFile(name: string, plain: Buffer): PageFile {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }
  return { type: TYPES[extname(name)]!, plain, gzip: gzipSync(plain), brotli: brotliCompressSync(plain, quality) }
}
