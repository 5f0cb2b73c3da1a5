import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RequestHead } from '../../../src/http/engine/head.ts'
import { HttpError } from '../../../src/http/engine/http-error.ts'
import { idempotencyKeyOf } from '../../../src/http/route/idempotency.ts'
import { assertLabel } from '../../../src/http/route/label.ts'

const isInvalid = (error: unknown) => error instanceof HttpError && error.code === 'invalid_request'

test('a label is one line that people can see', () => {
  for (const label of ['crm-export', 'köln 2026', ' x', '日本', '😀'.repeat(64)]) assertLabel(label)
  for (const label of ['', ' ', '\u00a0\u3000', 'a\u2028b', 'a\u2029', 'a\tb', 'a\u200b', 'x'.repeat(65)])
    assert.throws(() => assertLabel(label), isInvalid, JSON.stringify(label))
})

test('an empty idempotency key is none', () => {
  assert.equal(idempotencyKeyOf({ idempotencyKey: '' } as RequestHead), undefined)
  assert.throws(() => idempotencyKeyOf({ idempotencyKey: '""' } as RequestHead), isInvalid)
})
