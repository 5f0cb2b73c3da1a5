import type { TestContext } from 'node:test'

/**
 * Subtests that each build on the ones before. When one fails, the others are skipped: they would wait for a state that
 * cannot come.
 */
export function stepsOf(
  t: TestContext,
): (name: string, work: (t: TestContext) => void | Promise<void>) => Promise<void> {
  let failed = false
  return (name, work) =>
    t.test(name, { skip: failed && 'an earlier step failed' }, async (step) => {
      try {
        await work(step)
      } catch (error) {
        failed = true
        throw error
      }
    })
}
