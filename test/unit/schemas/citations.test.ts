import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

const FILES = ['schemas', 'pipelines', 'src', 'test', 'bench'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:m?ts|mjs|lua|sql)$/.test(name) && !name.includes('node_modules/'))
    .map((name) => `${folder}/${name}`),
)

test('a comment that cites schemas/README.md names one of its headings', () => {
  const text = readFileSync(join(ROOT, 'schemas/README.md'), 'utf8')
  const headings = new Set([...text.matchAll(/^##+ (.+)$/gm)].map(([, heading]) => heading))
  const cited = FILES.flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/\(schemas\/README\.md, ([^)]+)\)/g)].map(([, heading]) => ({
      file,
      heading,
    })),
  )
  assert.ok(cited.length > 10)
  assert.deepEqual(
    cited.filter(({ heading }) => !headings.has(heading)),
    [],
  )
})
