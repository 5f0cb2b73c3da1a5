import { readFileSync } from 'node:fs'
import { CLASSIFICATIONS, type Classification } from '../../../schemas/classification.ts'

/** A part of a data file of the rules. */
export interface Section {
  /** The words of its heading, 1 or more. */
  readonly heading: readonly string[]
  /** In the order of the file; none is empty. */
  readonly entries: readonly string[]
}

const FOLDER = new URL('./data/', import.meta.url)
const HEADING = /^\[([^[\]]+)\]$/

/**
 * Reads a file of `data/` at once. Only a broken installation has one that is missing or cannot be read.
 * @throws Error with the file, the line and the reason
 */
export function readSections(file: string): Section[] {
  return parseSections(readFileSync(new URL(file, FOLDER), 'utf8'), file)
}

/**
 * The sections of a text. A line such as `[isp 4]` heads one; the lines below hold its entries, which commas and line
 * ends separate, so that an entry may be several words. `#` starts a comment. A heading may come again.
 * @throws Error with the file, the line and the reason
 */
export function parseSections(text: string, file: string): Section[] {
  const sections: { heading: string[]; entries: string[] }[] = []
  for (const [i, line] of text.split('\n').entries()) {
    const content = line.replace(/#.*/, '').trim()
    if (content === '') continue
    const heading = HEADING.exec(content)?.[1]
    if (heading !== undefined) sections.push({ heading: heading.trim().split(/\s+/), entries: [] })
    else if (content.startsWith('[')) throw new Error(`${file}:${i + 1}: "${content}" is no heading`)
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

/** The classification for each entry of the sections whose headings name one. @throws Error when one does not */
export function classesByEntry(sections: readonly Section[]): Map<string, Classification> {
  return new Map(
    sections.flatMap(({ heading, entries }) => {
      const classification = classificationIn(heading.at(-1)!)
      return entries.map((entry) => [entry, classification] as const)
    }),
  )
}

/** @throws Error when a word of a heading names no classification */
export function classificationIn(word: string): Classification {
  const classification = CLASSIFICATIONS.find((candidate) => candidate === word)
  if (classification === undefined) throw new Error(`"${word}" in a heading is no classification`)
  return classification
}

/** Makes a value when it is asked for first: importing a module reads no file. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}
