import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { transformSync } from 'esbuild'

test('the script tag has no syntax that is newer than ES2019, which browsers of 2018 read', () => {
  const script = readFileSync(new URL('../../../src/pipeline/sources/web-script.js', import.meta.url), 'utf8')
  const { code } = transformSync(script, { target: 'es2019' })
  assert.equal(code, transformSync(script, { target: 'esnext' }).code)
})
