type Ends = { after(hook: () => Promise<void>): void }

const ends = new WeakMap<Ends, (() => unknown)[]>()

/**
 * As `t.after`, but the last hook runs first, so that a folder is removed after its writer has ended. All hooks run, and
 * the first that fails fails the test.
 */
export function atEnd(t: Ends, end: () => unknown): void {
  const known = ends.get(t)
  if (known !== undefined) {
    known.push(end)
    return
  }
  const all = [end]
  ends.set(t, all)
  t.after(async () => {
    const failures: unknown[] = []
    for (let next = all.pop(); next !== undefined; next = all.pop()) {
      try {
        await next()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  })
}
