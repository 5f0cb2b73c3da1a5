import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { transformSync } from 'esbuild'
import { webSetup } from '../../../src/pipeline/sources/web-setup.ts'

/** Fails if the text has syntax that is newer. */
function assertEs2019(script: string): void {
  const { code } = transformSync(script, { target: 'es2019' })
  assert.equal(code, transformSync(script, { target: 'esnext' }).code)
}

test('the script tag has no syntax that is newer than ES2019, which browsers of 2018 read', () => {
  const script = readFileSync(new URL('../../../src/pipeline/sources/web-script.js', import.meta.url), 'utf8')
  assertEs2019(script)
  const blocks = webSetup('https://ipid.example', `pub_${'a'.repeat(40)}`)
  const pasted = blocks.flatMap(({ code }) => [...code.matchAll(/<script>([\s\S]*?)<\/script>/g)])
  assert.ok(pasted.length >= 2)
  for (const [, text] of pasted) assertEs2019(text!)
})
