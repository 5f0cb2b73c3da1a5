import { importBuilt } from '../../src/bootstrap/build.mjs'

/* `ipid role MODULE` for a module that imports none of src: it runs from the build, and saves the hook for TypeScript, 1 s of CPU. */

const { main } = await importBuilt('main.ts')
await main(process.argv.slice(2))
