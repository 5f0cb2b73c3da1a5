import { pathToFileURL } from 'node:url'

/*
 * The unit tests that `npm test` was asked for, in one process: see `src/bootstrap/tests.mjs`. One module imports them all, so that
 * they are loaded before the first test begins: with what is loaded behind it, the last one may be over before the next is there.
 */
const files = JSON.parse(process.env.UNIT_TESTS ?? '[]')
const imports = files.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)}`)
await import(`data:text/javascript,${encodeURIComponent(imports.join('\n'))}`)
