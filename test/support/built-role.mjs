import { importBuilt } from '../../src/bootstrap/build.mjs'

/* `ipid role MODULE` for a module without imports of src: it runs from the build, without the TypeScript hook (1 s of CPU). */

const { main } = await importBuilt('program', 'main.ts')
await main(process.argv.slice(2))
