import assert from 'node:assert/strict'
import { test } from 'node:test'
import { piecesToJudge } from '../../../src/embedded/clickhouse/judged-text.ts'
import { refuseReach } from '../../../src/embedded/clickhouse/reach.ts'
import { SuspicionSearch } from '../../../src/embedded/clickhouse/suspicion.ts'

const MIB = 2 ** 20

/** Checks a request whose texts are canonical already. Counts the turns that other work gets meanwhile. */
async function judge(query: string, body: string): Promise<{ judged: string[]; turns: number }> {
  const judged: string[] = []
  let turns = 0
  let hasEnded = false
  const turn = () => {
    turns++
    if (!hasEnded) setImmediate(turn)
  }
  setImmediate(turn)
  try {
    await refuseReach({ query, body: Buffer.from(body) }, async (text) => {
      judged.push(text)
      return text.trim()
    })
  } finally {
    hasEnded = true
  }
  return { judged, turns }
}

test('only the head of an insert is checked, however large its data are', async () => {
  const data = `file(1) ENGINE = URL \\\n${'x,'.repeat(4 * MIB)}`
  const steps = (query: string, body: string) =>
    [...piecesToJudge(query, Buffer.from(body))].reduce((sum, piece) => sum + piece.length, 0)
  const head = 'INSERT INTO t (a) SETTINGS max_threads = 1 FORMAT CSV'
  for (const text of [data.slice(0, 40), data]) {
    assert.ok(steps('', `${head}\n${text}`) <= head.length + 1)
    assert.ok(steps(head, text) <= head.length + 1)
    assert.ok(steps('INSERT INTO', `${head.slice(12)}\n${text}`) <= head.length + 1)
  }
  assert.deepEqual((await judge('', `INSERT INTO t (a) FORMAT CSV\n${data}`)).judged, [])
  assert.deepEqual((await judge('INSERT INTO t (a) FORMAT CSV', data)).judged, [])
  const { judged } = await judge('', `INSERT INTO t (engine) FORMAT CSV\n${data}`)
  assert.deepEqual(
    judged.map((text) => text.trim()),
    ['INSERT INTO t (engine) FORMAT CSV'],
  )
})

test('large VALUES are searched in slices, and other work runs after each', async () => {
  const values = "('some text'),".repeat(MIB / 4)
  const text = `INSERT INTO t VALUES ${values}`
  const pieces = [...piecesToJudge('', Buffer.from(text))]
  assert.equal(pieces.join(''), `\n${text}`)
  assert.ok(pieces.every((piece) => piece.length <= MIB / 4))
  const { judged, turns } = await judge('', text)
  assert.deepEqual(judged, [])
  assert.ok(turns >= pieces.length - 2, `${turns} turns for ${pieces.length} slices`)
})

test('an expression at the end of large VALUES is refused, in both forms', async () => {
  const values = "('some text'),".repeat(MIB / 12)
  for (const form of ['VALUES', 'FORMAT Values', 'format values', 'FORMAT\nValues', '/* */ VALUES']) {
    const text = `INSERT INTO t ${form} ${values}(file('/etc/passwd'))`
    await assert.rejects(judge('', text), /is refused/, form)
    await assert.rejects(judge(`INSERT INTO t ${form}`, `${values}(file('/etc/passwd'))`), /is refused/, form)
  }
  await assert.rejects(judge('', `INSERT INTO t SELECT 1, '${'x'.repeat(2 * MIB)}', file('/etc/passwd')`), /is refused/)
})

test('a format name that continues in the next part is not mistaken for another', async () => {
  const head = (blanks: number, comment = '') => `INSERT INTO t ${comment}(a) ${' '.repeat(blanks)}FORMAT Val`
  // One form is plain, the other needs the engine to parse it.
  for (const comment of ['', '/* */ ']) {
    for (const limit of [65_536, MIB]) {
      const blanks = limit - head(0, comment).length
      for (const shift of [-2, -1, 0, 1, 2]) {
        const text = `${head(blanks + shift, comment)}ues (file('x'))${' '.repeat(MIB)}`
        await assert.rejects(judge('', text), /is refused/, `${limit} ${shift}`)
        await assert.rejects(judge('INSERT', text.slice('INSERT'.length)), /is refused/, `${limit} ${shift}`)
      }
    }
  }
})

/** Finds a word in a text that is cut at a given place. */
function finds(text: string, at: number): boolean {
  const search = new SuspicionSearch()
  const first = search.finds(text.slice(0, at))
  return search.finds(text.slice(at)) || first
}

test('a word is found wherever its text is cut, and no cut creates one', () => {
  const blanks = ' \n'.repeat(60)
  const suspicious = [
    'x file(1)',
    'a settings b',
    'x, aiEmbed(1)',
    'a \\ b',
    `x parallel${blanks}with y`,
    `x parallel${blanks}/* */ with`,
    `x parallel\u2003with y`,
    `x url${blanks}(1)`,
    `x "null"${blanks}(1)`,
    `x s3${blanks}-- y\n (1)`,
    `format${blanks}${blanks}(`,
  ]
  const harmless = [
    `parallel${blanks}worlds`,
    `(1, NULL, 'x')${blanks}, (NULL)`,
    `myurl(1), the url,${blanks}(1)`,
    '(( format, 1',
    'a.settings',
    'maildrop, xai_',
  ]
  for (const text of suspicious) for (let at = 0; at <= text.length; at++) assert.ok(finds(text, at), `${at}: ${text}`)
  for (const text of harmless) {
    for (let at = 0; at <= text.length; at++) assert.equal(finds(text, at), finds(text, text.length), `${at}: ${text}`)
    assert.equal(finds(text, text.length), false, text)
  }
})
