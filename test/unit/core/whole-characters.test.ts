import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pausedAfter } from '../../../src/alerts/delivery.ts'
import { fieldText } from '../../../src/enrichment/field-text.ts'
import { shortText } from '../../../src/pipeline/event/judgement.ts'
import { RejectedGroups } from '../../../src/pipeline/sources/batch/rejected-groups.ts'
import { problemAt } from '../../../src/pipeline/sources/pulls/state.ts'
import { pageOf } from '../../../src/pipeline/sources/tools/tool-event.ts'
import { cutText, wholeUntil } from '../../../src/run/cut-text.ts'
import { wellFormed, wellFormedJson } from '../../../src/run/well-formed.ts'
import { RecentProblems } from '../../../src/telemetry/problems.ts'

const isWhole = (text: string) => wellFormed(text) === text

test('a text is cut before a character that the limit would split', () => {
  assert.equal(cutText('abc', 3), 'abc')
  assert.equal(cutText('abcd', 3), 'abc')
  assert.equal(cutText('ab😀', 3), 'ab')
  assert.equal(cutText('ab😀', 4), 'ab😀')
  assert.equal(cutText('ab😀c', 4), 'ab😀')
  assert.equal(cutText('😀', 1), '')
  assert.equal(cutText('é中', 1), 'é')
  assert.deepEqual([wholeUntil('a😀b', 1), wholeUntil('a😀b', 2), wholeUntil('a😀b', 3)], [1, 1, 3])
})

test('no place that shortens a text leaves half of a character', () => {
  const problems = new RecentProblems()
  const groups = new RejectedGroups()
  const cuts: Readonly<Record<string, (text: string) => string>> = {
    url: (text) => pageOf(text, undefined)!.url!,
    referrer: (text) => pageOf(undefined, text)!.referrer!,
    campaign: (text) => pageOf('/', undefined, { name: text })!.utm_campaign!,
    'a problem of a pull': (text) => problemAt(text, 0).message,
    'a field of a data file': fieldText,
    'a value in the live view': (text) => shortText(text)!,
    'a reason for the pause of an alert': (text) =>
      pausedAfter({ alertName: 'a', attempts: [{ error: text }] } as unknown as Parameters<typeof pausedAfter>[0], 0)
        .reason,
    'a problem of a process': (text) => {
      problems.note('warn', text, 0)
      return problems.list(0)[0]!.message
    },
    'a reason of rejected lines': (text) => {
      groups.add(text, 1)
      return groups.list.at(-1)!.reason
    },
  }
  for (const [name, cut] of Object.entries(cuts)) {
    for (const start of ['', 'x']) {
      const shortened = cut(start + '😀'.repeat(4_000))
      assert.ok(isWhole(shortened), name)
      assert.ok(shortened.length < 8_000, name)
    }
  }
})

test('a URL with an emoji at the edge keeps its beginning', () => {
  const start = `https://shop.example/${'a'.repeat(2_026)}`
  assert.equal(pageOf(`${start}😀zzz`, undefined)!.url, start)
  // One that ends at the edge stays, and a referrer is cut in the same way.
  assert.equal(pageOf(`${start.slice(0, -1)}😀zzz`, undefined)!.url, `${start.slice(0, -1)}😀`)
  assert.equal(pageOf('https://a.b/', `${start}😀zzz`)!.referrer, start)
  assert.equal(pageOf(`${start}/${'b'.repeat(3_000)}`, undefined)!.url!.length, 2_048)
})

test('half of a character becomes U+FFFD, as text and as an escape in JSON', () => {
  assert.equal(wellFormed('x \ud83d'), 'x \ufffd')
  assert.equal(wellFormed('\ude00x😀'), '\ufffdx😀')
  const cases = [
    ['"x \\ud83d"', '"x \\ufffd"'],
    ['"\\uDE00\\ud83d\\ude00\\uD83D"', '"\\ufffd\\ud83d\\ude00\\ufffd"'],
    ['"\\ud83d\\ud83d\\ude00"', '"\\ufffd\\ud83d\\ude00"'],
    ['"\\\\ud83d \\u00e9\\n\\\\\\ud83d"', '"\\\\ud83d \\u00e9\\n\\\\\\ufffd"'],
    ['{"\\ud83d":"\\ud7ff\\ue000"}', '{"\\ufffd":"\\ud7ff\\ue000"}'],
  ]
  for (const [json, expected] of cases) {
    assert.equal(wellFormedJson(json!), expected)
    assert.ok(isWhole(JSON.stringify(JSON.parse(wellFormedJson(json!)))))
  }
})
