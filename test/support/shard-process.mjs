/*
 * A ClickHouse server of the package `chdb`, with its listeners for HTTP and for other servers. It ends with its standard input.
 * Arguments: those of `clickhouse-local`.
 */
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { open, load, DataType } = require('ffi-rs')

const START = "SYSTEM START LISTEN HTTP; SYSTEM START LISTEN TCP; SELECT * FROM file('-', LineAsString) FORMAT Null"
const args = ['clickhouse', ...process.argv.slice(2), '--query', START]
open({ library: 'clickhouse', path: require('chdb/libchdb').resolveLibchdb().path })
await load({
  library: 'clickhouse',
  funcName: 'chdb_query_cmdline',
  retType: DataType.External,
  paramsType: [DataType.I32, DataType.StringArray],
  paramsValue: [args.length, args],
  runInNewThread: true,
})
process.reallyExit(0)
