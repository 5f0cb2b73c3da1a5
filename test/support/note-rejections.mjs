import { appendFileSync } from 'node:fs'

/*
 * Imported by the Node.js processes that tests start (`end.mjs`). Writes down each unhandled rejection, to the file that the query
 * `to` of its own URL names. The process ends as it would without this.
 */

const path = new URL(import.meta.url).searchParams.get('to')

process.on('uncaughtExceptionMonitor', (error, origin) => {
  if (origin !== 'unhandledRejection') return
  const reason = error instanceof Error ? error.stack : String(error)
  appendFileSync(path, `${process.title} (process ${process.pid}): ${reason}\n`)
})
