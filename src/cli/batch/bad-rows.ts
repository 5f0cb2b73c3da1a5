import { BATCH_LIMITS } from '../../../schemas/api/batch.ts'

/** Rows of a file that cannot become events. They are not sent; the first ones are named. */
export class BadRows {
  readonly errors: { readonly line: number; readonly detail: string }[] = []
  count = 0

  /** @param line as an editor counts */
  add(line: number, detail: string): void {
    this.count++
    if (this.errors.length < BATCH_LIMITS.errorsMax) this.errors.push({ line, detail })
  }
}
