import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { BatchAccepted, BatchJob } from '../../../schemas/api/batch.ts'
import type { BulkResult } from '../../../schemas/api/bulk.ts'
import type { ApiCompany, ApiCompanyAnswer } from '../../../schemas/api/companies.ts'
import { API_ERRORS } from '../../../schemas/api/error.ts'
import type { IngestResponse } from '../../../schemas/api/event.ts'
import type { LookupResponse } from '../../../schemas/api/lookup.ts'
import type { EventFate } from '../../../schemas/api/receipt.ts'
import type * as client from '../../../src/client/typescript/index.ts'
import { API_ERROR_CODES, CLIENT_ERROR_CODES, VERSION } from '../../../src/client/typescript/index.ts'
import { version } from '../../../src/config/version.ts'
import { PYTHON } from '../../support/clients/clients.ts'

/* Both clients say what the service says. */

const ROOM = new URL('../../../src/client/', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, ROOM), 'utf8')

/** Evaluates an expression with the Python client. */
function python(expression: string): unknown {
  const code = `import json, ipid; print(json.dumps(${expression}))`
  return JSON.parse(execFileSync(PYTHON!, ['-B', '-c', code], { cwd: new URL('python/', ROOM), encoding: 'utf8' }))
}
const skip = PYTHON === undefined && 'there is no python3'

test('the TypeScript client knows every code of the API', () => {
  assert.deepEqual([...API_ERROR_CODES], Object.keys(API_ERRORS))
  assert.ok(!CLIENT_ERROR_CODES.some((code) => code in API_ERRORS))
})

test('the Python client knows every code of the API, and the same codes of its own', { skip }, () => {
  assert.deepEqual(python('ipid.API_ERROR_CODES'), Object.keys(API_ERRORS))
  assert.deepEqual(python('ipid.CLIENT_ERROR_CODES'), [...CLIENT_ERROR_CODES])
})

test('the pages of both clients explain every code of their own', () => {
  const pages = ['typescript/README.md', 'python/README.md'].map(read)
  const missing = CLIENT_ERROR_CODES.filter((code) => !pages.every((page) => page.includes(`| \`${code}\` |`)))
  assert.deepEqual(missing, [])
})

test('the pages of both clients have every option with its default', () => {
  const optionsOf = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name!)
  const typescript = read('typescript/client.ts').split('export interface IpidOptions')[1]!.split('\n}')[0]!
  const python = read('python/ipid.py').split('class Client:')[1]!.split(') -> None')[0]!
  const missing = [
    ...optionsOf(typescript, /^ {2}readonly (\w+)\??:/gm).filter(
      (name) => !read('typescript/README.md').includes(`| \`${name}\` |`),
    ),
    ...optionsOf(python, /^ {8}(\w+): /gm).filter((name) => !read('python/README.md').includes(`| \`${name}\` |`)),
  ]
  assert.deepEqual(missing, [])
})

test('the pages show the samples as they are', () => {
  const samples = [...read('samples.md').matchAll(/^```(\w+)\n(.*?)^```$/gms)]
  assert.equal(samples.length, 4 * 6)
  const pages: Readonly<Record<string, string>> = {
    sh: read('../../README.md'),
    ts: read('typescript/README.md'),
    python: read('python/README.md'),
  }
  const missing = samples.filter(([, language, code]) => pages[language!]?.includes(code!) === false)
  assert.deepEqual(
    missing.map(([text]) => text),
    [],
  )
})

test('the version of both clients is that of ipid', { skip }, () => {
  assert.equal(VERSION, version())
  assert.equal(JSON.parse(read('typescript/package.json')).version, version())
  assert.equal(python('ipid.__version__'), version())
  for (const page of ['samples.md', 'typescript/README.md']) {
    assert.deepEqual([...new Set(read(page).match(/ipid-client-[\d.]+\.tgz/g))], [`ipid-client-${version()}.tgz`])
  }
})

test('the clients use nothing but the standard library', () => {
  const files = readdirSync(new URL('typescript/', ROOM)).filter((name) => name.endsWith('.ts'))
  const imported = files.flatMap((name) =>
    [...read(`typescript/${name}`).matchAll(/ from '([^']+)'/g)].map(([, target]) => target!),
  )
  assert.ok(imported.length > 10)
  assert.deepEqual(
    imported.filter((target) => !/^(?:node:|\.\/[\w-]+\.ts$)/.test(target)),
    [],
  )
})

/** Compiles only when a value of the service is one of the client. */
const isA = <T>(_: T | undefined) => {}

test('the types of the TypeScript client take what the service answers', () => {
  isA<client.EventResult>(undefined as IngestResponse['results'][number] | undefined)
  isA<client.Lookup>(undefined as LookupResponse | undefined)
  isA<client.BulkResult>(undefined as BulkResult | undefined)
  isA<client.AcceptedUpload>(undefined as BatchAccepted | undefined)
  isA<client.Job>(undefined as BatchJob | undefined)
  isA<client.EventFate>(undefined as EventFate | undefined)
  isA<client.Company>(undefined as ApiCompany | undefined)
  isA<client.CompanyDetails>(undefined as ApiCompanyAnswer | undefined)
})
