import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Exchange } from '../../engine/exchange.ts'
import { HttpError } from '../../engine/http-error.ts'
import type { HttpResponse } from '../../engine/response.ts'
import { type FixedContent, fixedContent, sendFixed } from '../../route/fixed-content.ts'
import type { Route } from '../../route/route.ts'
import { SAMPLES_STYLE, samplesHtml } from './samples.ts'

/** The package of the page, whose files are served as they are. */
const PACKAGE = 'swagger-ui-dist'

const CLIENTS = new URL('../../../client/', import.meta.url)

const page = (samples: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API of ipid</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/page.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script src="docs/start.js" defer></script>
</head>
<body>
<nav aria-label="Documents"><a href="docs">The API</a><a href="docs?tools">Paths of other tools</a></nav>
<main>
${samples}
<div id="docs"></div>
</main>
</body>
</html>
`

/** Lines of a length that people read well, and no box around a single button. */
const STYLE = `body { margin: 0; }
#docs, #samples { max-width: 1100px; margin: 0 auto; }
nav { max-width: 1060px; margin: 0 auto; padding: 16px 20px 0; font: 16px sans-serif; }
nav a { margin-right: 24px; color: #1a56a0; }
nav a[aria-current] { color: inherit; font-weight: bold; text-decoration: none; }
.dark-mode { background: #1c2022; color: #e4e6e6; }
.swagger-ui .scheme-container, html.dark-mode .swagger-ui .scheme-container { box-shadow: none; }
html.dark-mode .swagger-ui :is(.expand-operation, .opblock-control-arrow) svg path { fill: currentColor; }
html:not(.dark-mode) .swagger-ui .info :is(a, .url) { color: #1a56a0; }
.swagger-ui .info .title small.version-stamp { background: #1d632e; }
.swagger-ui .info .title small.version-stamp pre { color: #fff; }
.dark-mode nav a:not([aria-current]) { color: #8ab8f0; }
${SAMPLES_STYLE}`

/** Without `validatorUrl: null`, the page would send the document to a foreign server. */
const START = `const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
const part = location.search === '?tools' ? 1 : 0
document.querySelectorAll('nav a')[part].setAttribute('aria-current', 'page')
document.getElementById('samples').hidden = part === 1
// Samples are for the address at which the reader is.
const base = new URL('.', location.href).href.replace(/\\/$/, '')
for (const sample of document.querySelectorAll('#samples pre')) {
  sample.textContent = sample.textContent.replaceAll('http://127.0.0.1:8080', base)
}
// The list of operations is a main element inside that of the page.
const docs = document.getElementById('docs')
new MutationObserver(() => {
  const operations = docs.querySelector('main')
  operations?.setAttribute('role', 'region')
  operations?.setAttribute('aria-label', 'Operations')
}).observe(docs, { childList: true, subtree: true })
SwaggerUIBundle({
  url: ['openapi.json', 'docs/openapi-tools.json'][part],
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  validatorUrl: null,
})
`

/** The page may load and call this server only, and cannot be framed. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

const SCRIPT = 'text/javascript; charset=utf-8'

interface File {
  readonly type: string
  readonly read: () => Promise<Buffer>
}

const FILES: Readonly<Record<string, File>> = {
  'swagger-ui.css': { type: 'text/css; charset=utf-8', read: () => readPackageFile('swagger-ui.css') },
  'swagger-ui-bundle.js': { type: SCRIPT, read: () => readPackageFile('swagger-ui-bundle.js') },
  // For those who have an ipid and no checkout of it.
  'ipid.py': {
    type: 'text/x-python; charset=utf-8',
    read: () => readFile(new URL('python/ipid.py', CLIENTS)),
  },
  'page.css': { type: 'text/css; charset=utf-8', read: async () => Buffer.from(STYLE) },
  'start.js': { type: SCRIPT, read: async () => Buffer.from(START) },
}

function readPackageFile(name: string): Promise<Buffer> {
  return readFile(join(dirname(createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`)), name))
}

/** `GET /docs`: samples, and the OpenAPI documents as a page on which each operation can be tried. It needs no other server. */
export function docsRoutes(): Route[] {
  // Two megabytes, read at the first request.
  const contents = new Map<string, Promise<FixedContent>>()
  const contentOf = (name: string, file: File) => {
    const known = contents.get(name)
    if (known !== undefined) return known
    const content = file.read().then((bytes) => fixedContent(file.type, bytes))
    contents.set(name, content)
    // A failed read is tried again.
    content.catch(() => contents.delete(name))
    return content
  }
  let html: Promise<FixedContent> | undefined
  return [
    {
      method: 'GET',
      path: '/docs',
      access: 'open',
      async handle({ request }) {
        html ??= readFile(new URL('samples.md', CLIENTS), 'utf8').then((samples) =>
          fixedContent('text/html; charset=utf-8', Buffer.from(page(samplesHtml(samples)))),
        )
        // A failed read is tried again.
        html.catch(() => {
          html = undefined
        })
        return sendFixed(await html, request, HEADERS)
      },
    },
    {
      method: 'GET',
      path: '/docs/:file',
      access: 'open',
      async handle({ request }: Exchange): Promise<HttpResponse> {
        const name = request.parameters[0]!
        const file = Object.hasOwn(FILES, name) ? FILES[name]! : undefined
        if (file === undefined) throw new HttpError('unknown_path', 'this path does not exist')
        return sendFixed(await contentOf(name, file), request, HEADERS)
      },
    },
  ]
}
