import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'

const { bundlePackages } = (await import(String(new URL('../../../src/bootstrap/bundle.mjs', import.meta.url)))) as {
  bundlePackages: (options: { root: string }) => Promise<void>
}

/** A project that has TypeBox, and nothing else. */
function project(t: TestContext): { root: string; bundle: string } {
  const root = mkdtempSync(join(tmpdir(), 'ipid-bundle-'))
  t.after(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'node_modules'))
  cpSync(resolve('node_modules/typebox'), join(root, 'node_modules/typebox'), { recursive: true, dereference: true })
  return { root, bundle: join(root, 'node_modules/.cache/ipid/typebox/index.js') }
}

test('TypeBox in one file is what it is in many', async (t) => {
  const { root, bundle } = project(t)
  await bundlePackages({ root })
  const [one, many] = await Promise.all(
    [bundle, resolve('node_modules/typebox/build/index.mjs')].map((path) => import(String(pathToFileURL(path)))),
  )
  assert.deepEqual(Object.keys(one).sort(), Object.keys(many).sort())
  const schemas = [one, many].map(({ Type }) => Type.Object({ a: Type.Optional(Type.String({ minLength: 1 })) }))
  assert.deepEqual(JSON.stringify(schemas[0]), JSON.stringify(schemas[1]))
})

test('it is made once for a version, and its absence is no error', async (t) => {
  const { root, bundle } = project(t)
  await bundlePackages({ root })
  writeFileSync(bundle, `${readFileSync(bundle, 'utf8')}// kept`)
  await bundlePackages({ root })
  assert.match(readFileSync(bundle, 'utf8'), /\/\/ kept$/)
  const manifest = join(root, 'node_modules/typebox/package.json')
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/"version": *"[^"]+"/, '"version":"9.9.9"'))
  await bundlePackages({ root })
  assert.match(readFileSync(bundle, 'utf8'), /^\/\* typebox 9\.9\.9 \*\/(?!.*\/\/ kept$)/s)
  rmSync(join(root, 'node_modules'), { recursive: true })
  await bundlePackages({ root })
  assert.ok(!existsSync(bundle))
})
