import { test } from 'node:test'
import { assertDecisionsEqual } from '../support/decided.ts'

test('decisions that were made with the data equal those made for an address, for all AS of the default data', async () => {
  await assertDecisionsEqual(1)
})
