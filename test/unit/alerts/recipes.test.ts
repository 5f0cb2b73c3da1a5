import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { testMessage } from '../../../src/alerts/messages.ts'

const README = await readFile(new URL('../../../src/alerts/README.md', import.meta.url), 'utf8')
const MESSAGE = testMessage(
  { tenantId: 'acme', alertId: 'a', alertName: 'Hot', segment: 'Keen', dashboardUrl: 'https://dash.example' },
  0,
)

/** Zapier gives a Catch Hook the values of nested objects under their names, joined by two underscores. */
function joined(value: unknown, name = ''): Map<string, unknown> {
  if (typeof value !== 'object' || value === null) return new Map([[name, value]])
  return new Map(
    Object.entries(value).flatMap(([key, inner]) => [...joined(inner, name === '' ? key : `${name}__${key}`)]),
  )
}

function at(value: unknown, path: string): unknown {
  return path.split('.').reduce((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], value)
}

test('each field of the recipes is in a message, in the form of each tool', () => {
  const rows = [...README.matchAll(/^\| (.+) \| `(\w+)` \| `([\w.]+)` \| `\{\{ \$json\.([\w.]+) \}\}` \|$/gm)]
  assert.equal(rows.length, 9)
  const zapier = joined(MESSAGE)
  // A node Webhook of n8n has the headers, the query and the body of the request.
  const n8n = { headers: {}, params: {}, query: {}, body: MESSAGE }
  for (const [, what, ofZapier, ofMake, ofN8n] of rows) {
    const value = at(MESSAGE, ofMake!)
    assert.ok(value !== undefined && value !== '', what)
    assert.deepEqual([zapier.get(ofZapier!), at(n8n, ofN8n!)], [value, value], what)
  }
})
