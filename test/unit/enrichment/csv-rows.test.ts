import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'csv-parse/sync'
import { csvRows } from '../../../src/enrichment/providers/text/csv-rows.ts'

const OPTIONS = { info: true, trim: true, comment: '#', comment_no_infix: true, skip_empty_lines: true }

const TEXTS = {
  plain: 'a,b\n1,2\n3,4\n',
  'without a last line feed': 'a,b\n1,2',
  'with carriage returns': 'a,b\r\n1,2\r\n\r\n3,4\r\n',
  'with carriage returns alone': 'a,b\r1,2\r3,4\r',
  'with endings of two kinds': 'a,b\n1,2\r\n3,4\n',
  'space, blank lines and comments': '# first\n a , b\n\n1, 2 \n#c,d\n3,#4\n',
  quoted: 'a,b\n"Example, Inc.","say ""hi"""\n "x" , "y"\n"",\n',
  'a line feed in quotes': 'a,b\n1,2\n"two\nlines",3\n4,5\n',
  'a line of space': 'a,b\n1,2\n  \n3,4\n',
  'letters beyond ASCII': 'a,b\nKöln,科隆\n',
}

for (const [name, text] of Object.entries(TEXTS)) {
  test(`CSV is read the same as by the parser: ${name}`, async () => {
    const expected = parse(text, { ...OPTIONS, relax_column_count: true } as object) as unknown as {
      info: { lines: number }
      record: string[]
    }[]
    const rows = []
    for await (const row of csvRows(Buffer.from(text), false)) rows.push(row)
    assert.deepEqual(
      rows,
      expected.map(({ info, record }) => ({ line: info.lines, cells: record })),
    )
  })
}

for (const [text, reason] of [
  ['a,b\n1,2\n3\n', /line 3/],
  ['a,b\n1,2\n"x"y,2\n', /line 3/],
  ['a,b\n1,2\n"open,2\n', /[Qq]uote/],
] as const) {
  test(`an error names its line: ${JSON.stringify(text)}`, async () => {
    const rows: unknown[] = []
    await assert.rejects(async () => {
      for await (const row of csvRows(Buffer.from(text), true)) rows.push(row)
    }, reason)
    assert.equal(rows.length, 2)
  })
}
