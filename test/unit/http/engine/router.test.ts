import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EngineRoute } from '../../../../src/http/engine/engine.ts'
import { createRouter } from '../../../../src/http/engine/node/router.ts'

function route(method: EngineRoute['method'], path: string): EngineRoute {
  return { method, path, arrived: () => assert.fail() }
}

const find = createRouter([
  route('GET', '/v1/jobs/list'),
  route('GET', '/v1/jobs/:job_id'),
  route('any', '/v1/jobs/:job_id'),
  route('POST', '/v1/jobs/:job_id/cancel'),
  route('GET', '/v1/of/:tenant/jobs/:job_id'),
  route('any', '/v1/jobs/list'),
  route('HEAD', '/*'),
  route('any', '/*'),
])

function found(method: string, target: string): string {
  const { route, parameters, query } = find(method, target)!
  return `${route.method} ${route.path} ${parameters.join(' ')} ${query}`
}

test('a path wins over a pattern, a named method over any, and the rest takes the others', () => {
  assert.equal(found('GET', '/v1/jobs/list'), 'GET /v1/jobs/list  ')
  assert.equal(found('GET', '/v1/jobs/17?a=1&b=%20'), 'GET /v1/jobs/:job_id 17 a=1&b=%20')
  assert.equal(found('PATCH', '/v1/jobs/17'), 'any /v1/jobs/:job_id 17 ')
  assert.equal(found('POST', '/v1/jobs/17/cancel'), 'POST /v1/jobs/:job_id/cancel 17 ')
  assert.equal(found('HEAD', '/nowhere'), 'HEAD /*  ')
  assert.equal(found('get', '/v1/jobs/list'), 'any /v1/jobs/list  ', 'methods are case-sensitive')
})

test('a parameter is one non-empty segment, as it was sent', () => {
  assert.equal(found('GET', '/v1/jobs/a%2Fb'), 'GET /v1/jobs/:job_id a%2Fb ')
  assert.equal(found('GET', '/v1/of/a/jobs/b'), 'GET /v1/of/:tenant/jobs/:job_id a b ')
  for (const path of ['/v1/jobs/', '/v1/jobs', '/v1/jobs/a/b', '/v1/jobs/a/', '/V1/jobs/a', '*', '']) {
    assert.equal(found('GET', path), 'any /*  ', path)
  }
})

test('a target in absolute form is used without its origin', () => {
  assert.equal(found('GET', 'http://h:1/v1/jobs/17?x'), 'GET /v1/jobs/:job_id 17 x')
  assert.equal(found('GET', 'HTTPS://h?x'), 'any /*  x')
})
