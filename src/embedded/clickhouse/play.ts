import { type FileHandle, open, readdir } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { libraryFolder } from './addon.ts'
import { answerText } from './answer.ts'

/* ClickHouse's own page for queries, /play. The engine's library contains it. */

const TITLE = Buffer.from('<title>ClickHouse Query</title>')
const BEGIN = Buffer.from('<!DOCTYPE html>')
const END = Buffer.from('</html>')
/** The page is at an unknown position in the library. The search takes 0.4 s, once. */
const STRIDE_BYTES = 8_388_608
const HEAD_BYTES_MAX = 65_536
const PAGE_BYTES_MAX = 4_194_304

/**
 * The only parameters that a link may set. Others would let it run a query (`run`), name another server (`url`), or set a
 * password.
 */
const PARAMETERS = new Set(['database', 'theme'])

/** Allows only this server, and the chart script of the page, by its hash. */
const POLICY = [
  "default-src 'none'",
  "script-src 'unsafe-inline' 'wasm-unsafe-eval' https://cdn.jsdelivr.net/npm/uplot@1.6.21/dist/uPlot.iife.min.js",
  "style-src 'unsafe-inline'",
  "img-src 'self' data: blob:",
  'font-src data:',
  "connect-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

let page: Promise<Buffer | undefined> | undefined

/** GET /play. */
export async function answerPage(res: ServerResponse, url: URL): Promise<void> {
  const allowed = [...url.searchParams].filter(([name]) => PARAMETERS.has(name))
  const search = String(new URLSearchParams(allowed))
  if (allowed.length !== url.searchParams.size) {
    res.writeHead(302, { Location: search === '' ? '/play' : `/play?${search}` }).end()
    return
  }
  page ??= libraryFolder()
    .then(findPage)
    .catch(() => undefined)
  const html = await page
  if (html === undefined) return answerText(res, 'This build of the engine has no page /play\n', 404)
  const headers = {
    'Content-Security-Policy': POLICY,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  }
  res
    .writeHead(200, { 'Content-Type': 'text/html; charset=UTF-8', 'Content-Length': html.length, ...headers })
    .end(html)
}

/** @returns undefined when the library does not contain it */
async function findPage(folder: string): Promise<Buffer | undefined> {
  const name = (await readdir(folder)).find((file) => /^libchdb\.(?:so|dylib)$/.test(file))
  if (name === undefined) return undefined
  const file = await open(join(folder, name))
  try {
    const at = await find(file)
    return at === undefined ? undefined : await pageAt(file, at)
  } finally {
    await file.close()
  }
}

async function find(file: FileHandle): Promise<number | undefined> {
  const buffer = Buffer.alloc(STRIDE_BYTES + TITLE.length)
  for (let from = 0; ; from += STRIDE_BYTES) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, from)
    const at = buffer.subarray(0, bytesRead).indexOf(TITLE)
    if (at >= 0) return from + at
    if (bytesRead <= STRIDE_BYTES) return undefined
  }
}

async function pageAt(file: FileHandle, title: number): Promise<Buffer | undefined> {
  const from = Math.max(0, title - HEAD_BYTES_MAX)
  const around = Buffer.alloc(title - from + PAGE_BYTES_MAX)
  const { bytesRead } = await file.read(around, 0, around.length, from)
  const begin = around.subarray(0, title - from).lastIndexOf(BEGIN)
  const text = begin < 0 ? around.subarray(0, 0) : around.subarray(begin, bytesRead)
  // Only the page itself is followed by a zero byte.
  const zero = text.indexOf(0)
  const end = zero < 0 ? -1 : text.subarray(0, zero).lastIndexOf(END)
  return end < 0 ? undefined : Buffer.from(text.subarray(0, end + END.length))
}
