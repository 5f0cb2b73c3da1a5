import { readFileSync } from 'node:fs'

/**
 * Every setting of the engine with a decision: statements may set `+`, and `-` is refused. Settings of MergeTree tables start
 * with `merge_tree_`. The engine only accepts a deny-list, so the file lists all settings. A test compares it with the engine,
 * so that each new setting of chdb needs a decision.
 *
 * Allowed: settings for computation, limits and formats, and settings that clients and BI tools send by default. Refused:
 * settings that name a file, a server, a program or SQL, change parsing (the judgement relies on the defaults), inject
 * faults, affect the whole process, or configure features that the embedded engine lacks.
 */
const LIST = new URL('engine-settings.txt', import.meta.url)

interface EngineSettings {
  readonly allowed: readonly string[]
  readonly refused: readonly string[]
}

/** @throws Error when a line of the list has no decision */
export function readEngineSettings(): EngineSettings {
  const settings = { allowed: [] as string[], refused: [] as string[] }
  for (const line of readFileSync(LIST, 'utf8').trimEnd().split('\n')) {
    const [sign, name] = line.split(' ')
    if (name === undefined || (sign !== '+' && sign !== '-'))
      throw new Error(`engine-settings.txt: unclear line ${line}`)
    settings[sign === '+' ? 'allowed' : 'refused'].push(name)
  }
  return settings
}
