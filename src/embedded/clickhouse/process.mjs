/*
 * The process of the embedded ClickHouse: it loads the engine's library and calls the program in it, which opens ClickHouse's own
 * server. Plain JavaScript, because it runs without a build and from any folder.
 */
import { opendirSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'

/** The library and its arguments, see `start.ts`. Without `args`, it only loads the library and reports its properties. */
const { library, ffi, args } = JSON.parse(process.argv[2])

/** Without a wall, every user may list the root folder. */
function isWalled() {
  try {
    opendirSync('/').closeSync()
    return false
  } catch {
    return true
  }
}

const { open, load, DataType } = createRequire(import.meta.url)(ffi)
open({ library: 'clickhouse', path: library })
if (args === undefined) {
  writeSync(1, JSON.stringify({ walled: isWalled() }))
} else {
  // ClickHouse survives a kill at any moment, and the next start needs its folder and its port.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  process.send({ walled: isWalled() })
  await load({
    library: 'clickhouse',
    funcName: 'chdb_query_cmdline',
    retType: DataType.External,
    paramsType: [DataType.I32, DataType.StringArray],
    paramsValue: [args.length, args],
    // ClickHouse needs a native stack of its own, and this thread must see that the parent has ended.
    runInNewThread: true,
  })
}
process.reallyExit(0)
