import { cutText } from '../../../run/cut-text.ts'
import { InputError } from '../../../run/errors.ts'
import type { TenantAdmin } from '../../../tenants/admin.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printLine, printPairs, printTable } from '../../../terminal/print.ts'
import { type DeadLetters, eventOf, type LetterFilter, positionOf, type StoredLetter } from '../dead-letters.ts'
import { givenUpAt, letterPage, summaryOf } from '../letter-views.ts'

const EXIT_FAILED = 1
const REASON_CHARS = 80
/** Number of concurrent changes. */
const CHANGES_AT_ONCE = 32
/** Maximum number of reported failures. */
const SKIPPED_MAX = 20

/** @throws InputError when neither this tenant nor a letter of it exists */
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
    // A deleted tenant may have letters.
    const page = await letterPage(letters, { tenantId }, 1)
    if (page.letters.length === 0) throw error
  }
}

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

/** Result of `changeLetters`. */
interface ChangedLetters {
  readonly verb: 'retry' | 'discard'
  readonly done: number
  /** Changed by another process meanwhile. */
  readonly gone: number
  /** Number of letters that cannot be changed. `reasons` has the first of them. */
  readonly skipped: number
  readonly reasons: readonly { readonly id: string; readonly reason: string }[]
}

/**
 * Retries or discards letters.
 * @param which ids, or a filter
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
  // Finish a batch before reading on: otherwise nothing would catch a rejection during the read.
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

/** @returns the exit code: 1 when a letter could not be changed */
export function printChanged(
  { verb, done, gone, skipped, reasons }: ChangedLetters,
  json: boolean,
  { stdout }: CliContext,
): number {
  const name = verb === 'retry' ? 'retried' : 'discarded'
  if (json) {
    printJson(stdout, { [name]: done, gone, skipped, reasons })
  } else {
    const unchanged = skipped > 0 ? `, ${skipped} unchanged` : ''
    printLine(stdout, `${done} ${name}${gone > 0 ? `, ${gone} gone meanwhile` : ''}${unchanged}`)
    for (const { id, reason } of reasons) printLine(stdout, `${id}: ${reason}`)
  }
  return skipped > 0 ? EXIT_FAILED : 0
}

async function* chosen(letters: DeadLetters, which: readonly string[] | LetterFilter): AsyncGenerator<StoredLetter> {
  if (!isIds(which)) {
    yield* letters.letters(which, 'oldest first')
    return
  }
  // Find all of them first, so that a mistyped id changes nothing.
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
  return text.length > REASON_CHARS ? `${cutText(text, REASON_CHARS - 1)}…` : text
}
