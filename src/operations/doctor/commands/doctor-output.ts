import { numbered } from '../../../run/counted.ts'
import { printLine, printPairs } from '../../../terminal/print.ts'
import type { Finding, Level, Subject } from '../finding.ts'

/** The output of `ipid doctor --json`. */
interface Report {
  /** Whether there is no problem. */
  readonly ok: boolean
  readonly problems: number
  readonly risks: number
  readonly data_dir: string
  /** Whether an ipid is ready on `data_dir`, so that its stores were asked. */
  readonly running: boolean
  /** Problems, then risks, then fine findings. */
  readonly findings: readonly Finding[]
}

const LEVELS: readonly Level[] = ['problem', 'risk', 'fine']

export function reportOf(findings: readonly Finding[], { config, dir, running }: Subject): Report {
  const of = (level: Level) => findings.filter((finding) => finding.level === level)
  const [problems, risks] = [of('problem').length, of('risk').length]
  return {
    ...{ ok: problems === 0, problems, risks, data_dir: dir?.path ?? config.dataDir, running: running !== undefined },
    findings: LEVELS.flatMap(of),
  }
}

/** Prints a report as one page: first the problems, last the fine findings. */
export function printReport(out: NodeJS.WritableStream, report: Report): void {
  const { problems, risks, findings, data_dir: dataDir, running } = report
  const counts = `${numbered(problems, 'problem')}, ${numbered(risks, 'risk')}`
  const what = running ? `the ipid that runs on ${dataDir}` : `a start on ${dataDir}; none runs there now`
  printLine(out, `${counts}: ${what}`)
  for (const { check, level, seen, why, remedy } of findings) {
    if (level === 'fine') continue
    printLine(out, '')
    printLine(out, `${level === 'problem' ? 'PROBLEM' : 'risk'}  ${check}: ${seen}`)
    if (why !== undefined) printLine(out, `  ${why}`)
    if (remedy !== undefined) printLine(out, `  → ${remedy}`)
  }
  const fine = findings.filter(({ level }) => level === 'fine')
  if (fine.length === 0) return
  printLine(out, '')
  printLine(out, 'fine')
  printPairs(
    out,
    fine.map(({ check, seen }) => [`  ${check}`, seen]),
  )
}
