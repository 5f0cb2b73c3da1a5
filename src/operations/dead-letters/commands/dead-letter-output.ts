import { InputError } from '../../../run/errors.ts'
import type { TenantAdmin } from '../../../tenants/admin.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printLine, printPairs, printTable } from '../../../terminal/print.ts'
import { type DeadLetters, eventOf, type LetterFilter, positionOf, type StoredLetter } from '../dead-letters.ts'
import { givenUpAt, letterPage, summaryOf } from '../letter-views.ts'

const EXIT_FAILED = 1
const REASON_CHARS = 80
/** Letters that are changed at once. */
const CHANGES_AT_ONCE = 32
/** Letters that are named when they cannot be changed. */
const SKIPPED_MAX = 20

/** @throws InputError when there is neither a tenant of this name nor a letter that one left */
export async function assertKnownTenant(
  letters: DeadLetters,
  tenantId: string | undefined,
  admin: TenantAdmin,
): Promise<void> {
  if (tenantId === undefined) return
  try {
    await admin.getTenant(tenantId)
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    const { letters: left } = await letterPage(letters, { tenantId }, 1, undefined)
    if (left.length === 0) throw error
  }
}

/** One page. */
export async function printLetters(
  letters: DeadLetters,
  filter: LetterFilter,
  page: { readonly limit: number; readonly after?: string; readonly json?: boolean },
  { stdout }: CliContext,
): Promise<void> {
  const after = page.after === undefined ? undefined : positionOf(page.after)
  if (page.after !== undefined && after === undefined) throw new InputError(`--after "${page.after}": must be an id`)
  const { letters: shown, next } = await letterPage(letters, filter, page.limit, after)
  if (page.json) {
    printJson(stdout, { letters: shown.map(summaryOf), next })
    return
  }
  if (shown.length === 0) {
    const isFiltered = Object.keys(filter).length > 0 || after !== undefined
    printLine(stdout, isFiltered ? 'no dead letters match' : 'no dead letters: every event was processed')
    return
  }
  const rows = shown.map((letter) => {
    const { tenant_id, event_id } = eventOf(letter)
    return [letter.id, givenUpAt(letter), letter.group, letter.lane, tenant_id, event_id, cut(letter.reason)]
  })
  printTable(stdout, ['ID', 'GIVEN UP', 'GROUP', 'LANE', 'TENANT', 'EVENT', 'REASON'], rows)
  if (next !== null) {
    printLine(stdout, '')
    printLine(stdout, `more: --after ${next}`)
  }
}

/** @throws InputError when there is none of this id */
export async function printLetter(
  letters: DeadLetters,
  id: string,
  json: boolean,
  { stdout }: CliContext,
): Promise<void> {
  const letter = await existingLetter(letters, id)
  if (json) {
    printJson(stdout, { ...summaryOf(letter), event: eventOf(letter) })
    return
  }
  printPairs(stdout, [
    ['letter', letter.id],
    ['given up', givenUpAt(letter)],
    ['reason', letter.reason],
    ['group', letter.group],
    ['stream', letter.stream],
    ['lane', letter.lane],
    ['job', letter.block?.job],
    ...Object.entries(eventOf(letter)),
  ])
  const why = letters.whyNot(letter)
  printLine(stdout, '')
  printLine(stdout, why === undefined ? `./ipid dead-letter retry ${id}` : `cannot be retried: ${why}`)
}

/** What came of letters that were to be changed. */
export interface ChangedLetters {
  readonly verb: 'retry' | 'discard'
  readonly done: number
  /** Somebody else had changed them meanwhile. */
  readonly gone: number
  /** Those that could not be changed, and why; `reasons` are those of the first. */
  readonly skipped: number
  readonly reasons: readonly { readonly id: string; readonly reason: string }[]
}

/**
 * Retries or discards letters.
 * @param which ids, or all that a filter lets through
 */
export async function changeLetters(
  letters: DeadLetters,
  verb: 'retry' | 'discard',
  which: readonly string[] | LetterFilter,
): Promise<ChangedLetters> {
  const counts = { done: 0, gone: 0, skipped: 0 }
  const reasons: { readonly id: string; readonly reason: string }[] = []
  const change = async (letter: StoredLetter) => {
    const reason = verb === 'retry' ? letters.whyNot(letter) : undefined
    if (reason === undefined) {
      counts[await letters[verb](letter)]++
      return
    }
    counts.skipped++
    if (reasons.length < SKIPPED_MAX) reasons.push({ id: letter.id, reason })
  }
  // None is under way while letters are read: one that failed meanwhile would be nobody's to catch.
  let batch: StoredLetter[] = []
  for await (const letter of chosen(letters, which)) {
    batch.push(letter)
    if (batch.length < CHANGES_AT_ONCE) continue
    await Promise.all(batch.map(change))
    batch = []
  }
  await Promise.all(batch.map(change))
  return { verb, ...counts, reasons }
}

/** @returns the exit code: 1 when one of them could not be changed */
export function printChanged(
  { verb, done, gone, skipped, reasons }: ChangedLetters,
  json: boolean,
  { stdout }: CliContext,
): number {
  const name = verb === 'retry' ? 'retried' : 'discarded'
  if (json) {
    printJson(stdout, { [name]: done, gone, skipped, reasons })
  } else {
    const left = skipped > 0 ? `, ${skipped} left where they are` : ''
    printLine(stdout, `${done} ${name}${gone > 0 ? `, ${gone} gone meanwhile` : ''}${left}`)
    for (const { id, reason } of reasons) printLine(stdout, `${id}: ${reason}`)
  }
  return skipped > 0 ? EXIT_FAILED : 0
}

async function* chosen(letters: DeadLetters, which: readonly string[] | LetterFilter): AsyncGenerator<StoredLetter> {
  if (!isIds(which)) {
    yield* letters.letters(which, 'oldest first')
    return
  }
  // All of them are looked for first: a mistyped one changes nothing.
  yield* await Promise.all([...new Set(which)].map((id) => existingLetter(letters, id)))
}

function isIds(which: readonly string[] | LetterFilter): which is readonly string[] {
  return Array.isArray(which)
}

async function existingLetter(letters: DeadLetters, id: string): Promise<StoredLetter> {
  const letter = await letters.find(id)
  if (letter === undefined) throw new InputError(`there is no dead letter ${JSON.stringify(id)}`)
  return letter
}

function cut(reason: string): string {
  const text = reason.replace(/\s+/g, ' ')
  return text.length > REASON_CHARS ? `${text.slice(0, REASON_CHARS - 1)}…` : text
}
