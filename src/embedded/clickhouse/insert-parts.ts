import { setImmediate } from 'node:timers/promises'
import type { Body } from './body.ts'
import { callsOf } from './calls.ts'
import { emptied } from './canonical-text.ts'
import { type EngineStatement, textOf } from './engine-statement.ts'
import { Code, Exception } from './exception.ts'
import { dataStart, headText, SPLIT_HEAD_BYTES, splitInsert } from './plain-insert.ts'
import type { Canonical } from './reach.ts'
import { Scanner } from './scanner.ts'
import { quote } from './statement.ts'

/** An INSERT split into statement and data, so that data are never run as a statement. */
export interface InsertParts {
  /** The statement without its data. */
  readonly query: string
  /** Its data; undefined for INSERT … SELECT. */
  readonly data: Pick<Body, 'bytes' | 'file'> | undefined
  /** Whether the data are expressions, which must be judged. */
  readonly hasValues: boolean
}

/**
 * Splits an INSERT in any form.
 * @throws Exception when it is not an INSERT, another statement follows, or the engine would ignore its data
 */
export async function insertParts(statement: EngineStatement, canonical: Canonical): Promise<InsertParts> {
  const { query, body } = statement
  if (body.file !== undefined) return { query, data: body, hasValues: false }
  const plain = splitInsert(query, body.bytes)
  if (plain === undefined) return await otherParts(statement, canonical)
  const data = dataFrom(statement, plain.dataAt)
  if (plain.hasValues) await assertOnlyValues(data)
  return { query: plain.query, data: { bytes: data, file: undefined }, hasValues: plain.hasValues }
}

/** @param dataAt position in the body; negative for one in the query */
function dataFrom({ query, body }: EngineStatement, dataAt: number): Buffer {
  if (dataAt >= 0) return body.bytes.subarray(dataAt)
  const rest = Buffer.from(`${query}\n`).subarray(dataAt)
  return Buffer.concat([body.bytes.length === 0 ? rest.subarray(0, -1) : rest, body.bytes])
}

/** Limit of possible FORMAT clauses to try in a statement. */
const TRIES_MAX = 16

/** Lets the engine find the end of an INSERT's text: backslashes in quoted names, heredocs and table functions are not plain. */
async function otherParts(statement: EngineStatement, canonical: Canonical): Promise<InsertParts> {
  const { query, body } = statement
  const text = headText(query, body.bytes)
  const before = query === '' ? 0 : Buffer.byteLength(query) + 1
  const isCut = body.bytes.length > SPLIT_HEAD_BYTES
  for (const end of possibleEnds(text)) {
    // The cut may have shortened the format's name: "FORMAT Val" of "FORMAT Values".
    if (isCut && end === text.length) break
    const head = Buffer.from(text.slice(0, end), 'latin1').toString('utf8')
    const form = await canonical(head).catch(() => undefined)
    if (form === undefined) continue
    refuseInput(form)
    if (!(await takesData(head, canonical))) break
    if (/\bPARALLEL WITH\b/.test(emptied(form))) throw notApart('has PARALLEL WITH')
    const hasValues = / FORMAT Values$/i.test(form)
    const dataAt = hasValues ? end : dataStart(text, end)
    if (isCut && dataAt === text.length) break
    const data = dataFrom(statement, dataAt - before)
    if (hasValues) await assertOnlyValues(data)
    return { query: form, data: { bytes: data, file: undefined }, hasValues }
  }
  const whole = textOf(statement)
  const form = await canonical(whole)
  refuseInput(form)
  if (await takesData(whole, canonical))
    throw notApart(`is longer than 64 KB, or has the word FORMAT ${TRIES_MAX} times`)
  return { query: whole, data: undefined, hasValues: false }
}

/** Positions where a FORMAT clause or VALUES may end. */
function* possibleEnds(text: string): Generator<number> {
  let [count, isFormat] = [0, false]
  for (const scanner = new Scanner(text); count < TRIES_MAX && scanner.next(); ) {
    const isName = scanner.kind === 'word' || scanner.kind === 'number'
    if ((isFormat && isName) || scanner.is('VALUES')) {
      count++
      yield scanner.to
    }
    isFormat = scanner.is('FORMAT')
  }
}

/** Whether the engine accepts any text after the INSERT, because it reads all of it as data. */
async function takesData(text: string, canonical: Canonical): Promise<boolean> {
  return await canonical(`${text}\n)`).then(
    () => true,
    () => false,
  )
}

function notApart(why: string): Exception {
  const message = `The data of this INSERT cannot be separated from its text, which ${why}: send one INSERT as query= in the URL, and its data as the body. (SYNTAX_ERROR)`
  return new Exception(Code.SyntaxError, message)
}

/**
 * Refuses the table function `input`: the engine would run the statement without its data.
 * @throws Exception when the INSERT in canonical form has a table function `input`
 */
export function refuseInput(form: string): void {
  for (const { name } of callsOf(form)) {
    if (name !== 'input') continue
    const message = `The embedded ClickHouse has no table function input(): send the data as a file of a form, as in curl -F 'query=INSERT INTO t SELECT … FROM data' -F 'data=@file.csv' -F 'data_format=CSV' -F 'data_structure=a UInt32, …'. (NOT_IMPLEMENTED)`
    throw new Exception(Code.NotImplemented, message)
  }
}

const TOKENS_AT_ONCE = 100_000

/**
 * The engine would ignore text after a semicolon.
 * @throws Exception when anything but blanks and comments follows
 */
async function assertOnlyValues(data: Buffer): Promise<void> {
  if (data.indexOf(';') < 0) return
  const scanner = new Scanner(data.toString('latin1'))
  let isEnded = false
  for (let count = 1; scanner.next(); count++) {
    if (scanner.is(';')) isEnded = true
    else if (isEnded) {
      throw new Exception(Code.SyntaxError, 'Syntax error (Multi-statements are not allowed). (SYNTAX_ERROR)')
    }
    // Yield to other requests.
    if (count % TOKENS_AT_ONCE === 0) await setImmediate()
  }
}

/**
 * Adds FROM INFILE to an INSERT in canonical or plain form.
 * @param path path for INFILE
 */
export function fromInfile(form: string, path: string): string {
  const bare = emptied(form)
  const formatAt = bare.lastIndexOf(' FORMAT ')
  const settings = / SETTINGS .*$/.exec(bare.slice(0, formatAt))
  const at = settings === null ? formatAt : settings.index
  return `${form.slice(0, at)} FROM INFILE ${quote(path)}${form.slice(at)}`
}
