import { BATCH_LIMITS, type RejectedReason } from '../../../../../schemas/api/batch.ts'
import { RejectedGroups } from '../rejected-groups.ts'

/** Rows of a file that cannot become events and are not sent. Names the first ones, and counts all by reason. */
export class BadRows {
  readonly errors: { readonly line: number; readonly detail: string }[] = []
  count = 0
  readonly #groups = new RejectedGroups()

  get reasons(): RejectedReason[] {
    return this.#groups.list
      .map(({ reason, count, lines }) => ({ reason: reason || 'other reasons', count, lines: [...lines] }))
      .sort((a, b) => b.count - a.count)
  }

  /** @param line counted from 1 */
  add(line: number, reason: string, detail: string): void {
    this.count++
    this.#groups.add(reason, line)
    if (this.errors.length < BATCH_LIMITS.errorsMax) this.errors.push({ line, detail })
  }

  toJSON(): object {
    return { errors: this.errors, count: this.count, reasons: this.reasons }
  }
}
