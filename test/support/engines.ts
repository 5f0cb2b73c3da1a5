import { type ChosenEngine, chooseEngine } from '../../src/http/engine/choose.ts'

/*
 * A file of tests about HTTP runs with the engine that is set here, and once more with `node:http` when a list in
 * test/extended/node-http/ names it.
 */

let chosen = await chooseEngine('auto')

/** The engine of the servers in this file's tests. */
export function testedEngine(): ChosenEngine['name'] {
  return chosen.name
}

/** Loads tests for `node:http`, all at once, unless they already run with it. */
export async function againWithNodeHttp(load: () => Promise<unknown>): Promise<void> {
  if (chosen.name === 'node:http') return
  chosen = await chooseEngine('node:http')
  await load()
}
