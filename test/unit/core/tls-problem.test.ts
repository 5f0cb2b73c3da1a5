import assert from 'node:assert/strict'
import { test } from 'node:test'
import { causeText, causeWithRemedy } from '../../../src/run/cause-text.ts'
import { tlsProblemOf } from '../../../src/run/tls-problem.ts'

const failure = (code: string, more: object = {}) => Object.assign(new Error('as OpenSSL says'), { code, ...more })

test('a refused certificate has a reason and a remedy, however it is wrapped', () => {
  const expired = failure('CERT_HAS_EXPIRED')
  const ofCluster = Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError: expired })
  const ofFetch = new TypeError('fetch failed', { cause: expired })
  for (const error of [expired, ofFetch, new AggregateError([expired]), ofCluster]) {
    const { reason, remedy } = tlsProblemOf(error, 'REDIS_URL')!
    assert.equal(reason, 'the certificate of the server has expired')
    assert.equal(remedy, 'renew it on the server, or correct the clock of this machine (REDIS_URL)')
    assert.equal(causeText(error), reason)
    assert.equal(causeWithRemedy(error, 'REDIS_URL'), `${reason}: ${remedy}`)
  }
})

test('a certificate of other names names them', () => {
  const cert = { subjectaltname: 'DNS:a.internal, IP Address:10.0.0.1' }
  const { reason } = tlsProblemOf(failure('ERR_TLS_CERT_ALTNAME_INVALID', { host: 'b.internal', cert }))!
  assert.equal(reason, 'the certificate of the server is for a.internal, 10.0.0.1, not for b.internal')
})

test('another error keeps its message', () => {
  const error = failure('ECONNREFUSED')
  assert.equal(tlsProblemOf(error), undefined)
  assert.equal(causeText(error), 'as OpenSSL says')
  assert.equal(causeWithRemedy(error), 'as OpenSSL says')
})
