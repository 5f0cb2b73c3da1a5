import { pathToFileURL } from 'node:url'

/*
 * The unit tests that `npm test` was asked for, in one process: see `src/bootstrap/tests.mjs`.
 */
for (const file of JSON.parse(process.env.UNIT_TESTS ?? '[]')) await import(pathToFileURL(file).href)
