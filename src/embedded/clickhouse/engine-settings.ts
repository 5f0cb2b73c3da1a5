import { readFileSync } from 'node:fs'

/**
 * Every setting of the engine, judged: `+` may be set by statements, `-` is refused. Those of MergeTree tables begin with `merge_tree_`.
 * An allow-list is kept in this form because the engine takes only a list of what is fixed. A test compares the file with the
 * engine, so that a new version of chdb brings no setting in that nobody has looked at.
 *
 * Allowed is what changes how this engine computes, limits or formats, and what clients and BI tools send by themselves. Refused is
 * what names a file, a server, a program or a piece of SQL, changes how a text is parsed (the judgement reads it in the default way),
 * injects faults, works on the whole process, or configures what the embedded engine does not have.
 */
const LIST = new URL('engine-settings.txt', import.meta.url)

export interface EngineSettings {
  readonly allowed: readonly string[]
  readonly refused: readonly string[]
}

/** @throws Error when a line of the list has no judgement */
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
