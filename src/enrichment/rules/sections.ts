import { readFileSync } from 'node:fs'
import { CLASSIFICATIONS, type Classification } from '../../../schemas/classification.ts'

/** A section of a data file of the rules. */
export interface Section {
  /** The words of its heading, 1 or more. */
  readonly heading: readonly string[]
  /** Non-empty entries, in the order of the file. */
  readonly entries: readonly string[]
}

const FOLDER = new URL('./data/', import.meta.url)
const HEADING = /^\[([^[\]]+)\]$/

/**
 * Reads a file of `data/` synchronously.
 * @throws Error with the file, the line and the reason, in a broken installation
 */
export function readSections(file: string): Section[] {
  return parseSections(readData(file), file)
}

/** The text of a file of `data/`. */
export function readData(file: string): string {
  return readFileSync(new URL(file, FOLDER), 'utf8')
}

/**
 * Parses sections. A line such as `[isp 4]` starts one, and may be repeated. Commas and line ends separate the entries
 * below it, so an entry may have several words. `#` starts a comment.
 * @throws Error with the file, the line and the reason
 */
export function parseSections(text: string, file: string): Section[] {
  const sections: { heading: string[]; entries: string[] }[] = []
  for (const [i, line] of text.split('\n').entries()) {
    const content = line.replace(/#.*/, '').trim()
    if (content === '') continue
    const heading = HEADING.exec(content)?.[1]
    if (heading !== undefined) sections.push({ heading: heading.trim().split(/\s+/), entries: [] })
    else if (content.startsWith('[')) throw new Error(`${file}:${i + 1}: "${content}" is not a heading`)
    else if (sections.length === 0) throw new Error(`${file}:${i + 1}: an entry before the first heading`)
    else sections.at(-1)!.entries.push(...entriesOf(content))
  }
  return sections
}

function entriesOf(line: string): string[] {
  return line
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}

/** Maps each entry to the classification in the heading of its section. @throws Error when a heading has none */
export function classesByEntry(sections: readonly Section[]): Map<string, Classification> {
  return new Map(
    sections.flatMap(({ heading, entries }) => {
      const classification = classificationIn(heading.at(-1)!)
      return entries.map((entry) => [entry, classification] as const)
    }),
  )
}

/** @throws Error when the word is not a classification */
export function classificationIn(word: string): Classification {
  const classification = CLASSIFICATIONS.find((candidate) => candidate === word)
  if (classification === undefined) throw new Error(`"${word}" in a heading is not a classification`)
  return classification
}

/** Makes a value on first use, so that importing a module reads no file. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}
