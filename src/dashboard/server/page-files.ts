import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { built } from '../../bootstrap/build.mjs'

const INDEX = fileURLToPath(new URL('../pages/index.html', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.html': 'text/html; charset=utf-8',
}

/** A file of the pages, ready to send. */
export interface PageFile {
  readonly type: string
  readonly plain: Buffer
  readonly gzip: Buffer
  readonly brotli: Buffer
}

/** Files for the browser. Names of `assets` have a content hash, so browsers may cache them for ever. */
export interface PageFiles {
  readonly index: PageFile
  readonly assets: ReadonlyMap<string, PageFile>
}

/** Reads the pages from the build. */
export async function loadPageFiles(): Promise<PageFiles> {
  const dir = join(await built(), 'pages')
  const names = readdirSync(dir).filter((name) => extname(name) in TYPES)
  const assets = new Map(names.map((name) => [name, pageFile(name, readFileSync(join(dir, name)))]))
  const named = (end: string) => names.find((name) => name.startsWith('main-') && name.endsWith(end))!
  const html = readFileSync(INDEX, 'utf8')
    .replace('main.tsx', `/assets/${named('.js')}`)
    .replace('main.css', `/assets/${named('.css')}`)
    .replace('inter-latin.woff2', `/assets/${names.find((name) => name.startsWith('inter-latin-wght-'))!}`)
  return { index: pageFile('index.html', Buffer.from(html)), assets }
}

function pageFile(name: string, plain: Buffer): PageFile {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }
  return { type: TYPES[extname(name)]!, plain, gzip: gzipSync(plain), brotli: brotliCompressSync(plain, quality) }
}
