import { AsyncResource } from 'node:async_hooks'
import { mkdirSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import nodeTest, { test } from 'node:test'

/**
 * Runs the tests of several files in this process, as if each file had its own process: a file is loaded after the last test of
 * the file before it, and hooks that a file registers with `after` run after its own last test. Processes with the same `taken`
 * share the files: each takes the next one that is left.
 * @param {readonly { name: string, url: string }[]} files
 * @param {string} taken an existing folder, which gets a folder for each file that a process has taken
 */
export function runInTurn(files, taken) {
  const top = new AsyncResource('test files')
  const after = nodeTest.after
  const ends = []
  // A hook of a file is registered while the file loads; Node would run it after the last test of the process.
  let isLoading = false
  nodeTest.after = (...hook) => (isLoading ? void ends.push(hook[0]) : after(...hook))
  syncBuiltinESMExports()
  const endFile = async () => {
    for (const end of ends.splice(0)) await end()
  }
  const loadNext = () => {
    const file = files.find((_, i) => isTakenNow(join(taken, String(i))))
    if (file === undefined) return after(endFile)
    // Outside the context of this test, so that the tests of the file are not subtests of it.
    const load = async () => {
      isLoading = true
      try {
        await import(file.url)
      } finally {
        isLoading = false
        loadNext()
      }
    }
    test(`loads ${file.name}`, async () => {
      await endFile()
      await top.runInAsyncScope(load)
    })
  }
  loadNext()
}

/** False when this folder exists: another process, or this one, was first. */
function isTakenNow(path) {
  try {
    mkdirSync(path)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    return false
  }
}
