import { type ChosenEngine, chooseEngine } from '../../src/http/engine/choose.ts'

/*
 * A file of tests about HTTP runs with the engine that is chosen here, and once more with `node:http`, when a list in
 * test/integration/node-http/ names it.
 */

let chosen = await chooseEngine('auto')

/** The engine that servers of this file's tests have. */
export function testedEngine(): ChosenEngine['name'] {
  return chosen.name
}

/** Loads tests for `node:http`, all at once, unless that is what they were run with already. */
export async function againWithNodeHttp(load: () => Promise<unknown>): Promise<void> {
  if (chosen.name === 'node:http') return
  chosen = await chooseEngine('node:http')
  await load()
}
