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

/** The words after `./ipid` of each command of ipid in a text. */
export function ipidCommandsIn(text: string): string[][] {
  return [...text.matchAll(/`[^`\n]*\.\/ipid ([^`]+)`/g)].map(([, words]) => words!.split(' '))
}
