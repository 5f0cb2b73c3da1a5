import { type ChosenEngine, chooseEngine } from '../../src/http/engine/choose.ts'

/*
 * A file of tests about HTTP runs with the engine that is chosen here, and once more, by a file of test/integration/node-http/,
 * with `node:http`.
 */

let chosen = await chooseEngine('auto')

/** The engine that servers of this file's tests have. */
export function testedEngine(): ChosenEngine['name'] {
  return chosen.name
}

/** Loads a file of tests for `node:http`, unless that is what it was run with already. */
export async function againWithNodeHttp(load: () => Promise<unknown>): Promise<void> {
  if (chosen.name === 'node:http') return
  chosen = await chooseEngine('node:http')
  await load()
}
