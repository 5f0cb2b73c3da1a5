import { UnavailableError } from '../../run/errors.ts'

/**
 * Follows the cursor of SCAN or HSCAN to its end, page by page. A broken server or proxy that repeats a cursor would keep the reader
 * busy for ever. Brent's cycle detection notices that with one cursor in memory.
 * @param ask reads the page at a cursor
 * @throws UnavailableError when a cursor repeats, or is not a number
 */
export async function* scanPages(
  ask: (cursor: string) => Promise<readonly [next: string, page: string[]]>,
): AsyncGenerator<string[], void> {
  let cursor = '0'
  let anchor = cursor
  for (let [steps, stepsMax] = [0, 1]; ; steps++) {
    const [next, page] = await ask(cursor)
    yield page
    if (next === '0') return
    if (!/^\d+$/.test(next) || next === anchor) throw new UnavailableError(`Redis repeats the cursor ${next} of a scan`)
    if (steps === stepsMax) {
      anchor = next
      stepsMax *= 2
      steps = 0
    }
    cursor = next
  }
}
