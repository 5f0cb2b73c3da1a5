import { readDocument } from './documents.ts'

/** The runbook, by its path from the root. */
export const RUNBOOK = 'src/telemetry/monitoring/README.md'
/** The parts of each section, in their order. */
export const PARTS = ['It means', 'Users see', 'First', 'Remedy', 'Call'] as const

/** The section of an alert. */
export interface RunbookSection {
  readonly alert: string
  readonly severity: string
  /** Names of the parts, and their texts. */
  readonly parts: readonly (readonly [name: string, text: string])[]
}

/** The sections of the runbook, in their order. */
export function runbookSections(): RunbookSection[] {
  const [, ...sections] = readDocument(RUNBOOK).split(/^## /m)
  return sections.map((text) => {
    const [alert = '', severity = ''] = text.split(/\n+/)
    const parts = [...text.matchAll(/^- \*\*([\w ]+)\*\*: (.+)$/gm)].map(([, name, said]) => [name!, said!] as const)
    return { alert, severity: severity.split(':', 1)[0]!, parts }
  })
}

/** Output that the first command of a section must have while its alert fires: the words in italics of the part *First*. */
interface Promises {
  readonly command: string
  /** Each is printed. Of alternatives, as in *one* or *other*, one is. */
  readonly phrases: readonly (readonly string[])[]
}

/** @throws Error when the section promises nothing */
export function promisesOf({ alert, parts }: RunbookSection): Promises {
  const first = new Map(parts).get('First') ?? ''
  const [, command] = /^`(\.\/ipid [^`]+)`/.exec(first) ?? []
  const phrases = [...first.matchAll(/\*[^*]+\*(?: or \*[^*]+\*)*/g)].map(([text]) => text.slice(1, -1).split('* or *'))
  if (command === undefined || phrases.length === 0) throw new Error(`${alert}: no command, or nothing that it prints`)
  return { command, phrases }
}

/**
 * The lines of an output that have a phrase of the runbook. In a phrase, `…` is any text, and `N` any number above 0. Columns of tables may
 * have any distance.
 */
export function linesWith(phrase: string, output: string): string[] {
  const wanted = withoutNumbers(phrase)
    .split('…')
    .map((piece) => piece.trim())
  return output.split('\n').filter((line) => {
    const text = withoutNumbers(line)
    let from = 0
    return wanted.every((piece) => {
      const found = text.indexOf(piece, from)
      from = found + piece.length
      return found >= 0
    })
  })
}

function withoutNumbers(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/\d[\d,.]*/g, (number) => (/[1-9]/.test(number) ? 'N' : number))
}

/** The words after `./ipid` of each command of ipid in a text. */
export function ipidCommandsIn(text: string): string[][] {
  return [...text.matchAll(/`[^`\n]*\.\/ipid ([^`]+)`/g)].map(([, words]) => words!.split(' '))
}
