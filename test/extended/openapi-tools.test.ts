import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { installFolder } from '../support/install-folder.ts'
import { startInstance } from '../support/instance.ts'
import { openApiDocuments } from '../support/openapi.ts'
import { until } from '../support/until.ts'

/* Tools that others made read the OpenAPI documents: Redocly, Spectral, openapi-typescript and openapi-fetch. */

const TOOLS = fileURLToPath(new URL('../openapi/', import.meta.url))
const skip = await installFolder(TOOLS)
const documents = openApiDocuments()

const required = createRequire(join(TOOLS, 'package.json'))
const run = promisify(execFile)

/** Rules that do not hold, with the reason. */
const NOT_OURS = {
  /** The product has no licence and no address of its own to name. */
  info: ['info-license', 'info-contact'],
  /** Libraries of these tools send to paths with a slash at their end. */
  slashes: ['no-path-trailing-slash', 'path-keys-no-trailing-slash'],
}
const ignored = { api: NOT_OURS.info, tools: [...NOT_OURS.info, ...NOT_OURS.slashes] }

interface Redocly {
  createConfig(config: object): Promise<object>
  lintFromString(options: object): Promise<{ ruleId: string; message: string; location: { pointer?: string }[] }[]>
}

test('Redocly finds nothing wrong with both documents', { skip }, async () => {
  const redocly: Redocly = await import(pathToFileURL(required.resolve('@redocly/openapi-core')).href)
  const config = await redocly.createConfig({ extends: ['recommended'] })
  for (const part of ['api', 'tools'] as const) {
    const source = JSON.stringify(documents[part])
    const problems = await redocly.lintFromString({ source, absoluteRef: `/${part}.json`, config })
    const found = problems.filter(({ ruleId }) => !ignored[part].includes(ruleId))
    assert.deepEqual(
      found.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer} ${message}`),
      [],
      part,
    )
  }
})

test('Spectral finds nothing wrong with both documents', { skip }, async () => {
  const { Spectral } = required('@stoplight/spectral-core')
  const { oas } = required('@stoplight/spectral-rulesets')
  for (const part of ['api', 'tools'] as const) {
    const spectral = new Spectral()
    spectral.setRuleset({ extends: [[oas, 'recommended']], rules: {} })
    const problems: { code: string; message: string; path: string[] }[] = await spectral.run(documents[part])
    const found = problems.filter(({ code }) => !ignored[part].includes(code))
    assert.deepEqual(
      found.map(({ code, message, path }) => `${code} ${path.join('/')} ${message}`),
      [],
      part,
    )
  }
})

test('a program on generated types compiles without a cast, and works', { skip }, async (t) => {
  const instance = await startInstance(t)
  const answer = await fetch(`${instance.ready.url}/openapi.json`)
  const dir = mkdtempSync(join(tmpdir(), 'openapi-'))
  t.after(() => rmSync(dir, { recursive: true }))
  symlinkSync(join(TOOLS, 'node_modules'), join(dir, 'node_modules'))
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  writeFileSync(join(dir, 'openapi.json'), await answer.text())
  const program = readFileSync(join(TOOLS, 'program.ts'), 'utf8')
  assert.doesNotMatch(program, /\bas\b(?! (?:a|asked)\b)|\bany\b|!\.|@ts-/)
  writeFileSync(join(dir, 'program.ts'), program)
  const node = (...args: string[]) => run(process.execPath, args, { cwd: dir })
  await node(join(TOOLS, 'node_modules/openapi-typescript/bin/cli.js'), 'openapi.json', '-o', 'api.ts')
  writeFileSync(join(dir, 'node.d.ts'), NODE_TYPES)
  writeFileSync(
    join(dir, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: STRICT, files: ['program.ts', 'node.d.ts'] }),
  )
  await node(join(TOOLS, 'node_modules/typescript/bin/tsc'), '-p', '.').catch(({ stdout }) => assert.fail(stdout))
  await until(async () => {
    const { stdout } = await node(
      '--import',
      import.meta.resolve('tsx'),
      'program.ts',
      instance.ready.url,
      instance.apiKey,
    )
    const { companies, ...found } = JSON.parse(stdout)
    assert.deepEqual(found, {
      ...{ invalid: 1, used: found.used, bulk: ['Example Fruit', 'nonsense'], upload: 'completed', jobs: found.jobs },
      refused: 'no_events',
    })
    assert.ok(found.used > 0 && found.jobs > 0)
    return companies.includes('Example Fruit')
  })
})

const STRICT = {
  ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true },
  ...{ module: 'nodenext', target: 'es2022', lib: ['es2023', 'dom', 'dom.iterable'], types: [] },
  ...{ allowImportingTsExtensions: true, noEmit: true },
}
const NODE_TYPES =
  'declare const process: { readonly argv: string[]; readonly stdout: { write(text: string): void } }\n'
