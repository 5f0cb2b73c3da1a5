import { randomInt } from 'node:crypto'
import { Command, InvalidArgumentError } from 'commander'
import { type Releases, withReleases } from '../../../bench/run/releases.ts'
import { Random } from '../../../src/run/random.ts'
import { printJson, printTable } from '../../../src/terminal/print.ts'
import { stopShared } from '../../support/end.mjs'
import type { ClientRow } from './client-view.ts'
import { type InflictedFault, PHASES, type PhaseName, type PhaseReport, runPhase } from './phase.ts'

/** Parts of the time of a run. */
const SHARES: Readonly<Record<PhaseName, number>> = {
  own: 0.32,
  proxied: 0.2,
  cluster: 0.12,
  sentinel: 0.16,
  machines: 0.2,
}
const SEEDS = 2 ** 31
const EXIT_USAGE = 2

interface Options {
  readonly minutes: number
  readonly seed: number
  readonly phases: readonly PhaseName[]
  readonly watch: boolean
  readonly json: boolean
}

/** The result of a run. */
export interface ChaosReport {
  readonly seed: number
  readonly faults: readonly InflictedFault[]
  readonly clients: readonly (ClientRow & { readonly phase: PhaseName })[]
  readonly stored: number
  readonly lost: number
  readonly doubled: number
  readonly wrong: number
  readonly examples: readonly string[]
}

/** `npm run chaos`. @param args without the names of node and of the script */
export async function main(args: readonly string[]): Promise<void> {
  const options = readOptions(args)
  const say = (text: string) => void process.stderr.write(`chaos: ${text}\n`)
  say(`seed ${options.seed}`)
  await withReleases(async (releases) => {
    releases.add(stopShared)
    const report = await runChaos(options, say, releases)
    if (options.json) printJson(process.stdout, report)
    else print(report)
    const { lost, doubled, wrong } = report
    const unseen = unseenIn(report.faults)
    for (const text of unseen) say(text)
    process.exitCode = lost + doubled + wrong + unseen.length === 0 ? 0 : 1
  })
}

/** Runs all phases, one after the other, for about this many minutes, without the time for starts and comparisons. */
export async function runChaos(
  { minutes, seed, phases, watch = false }: Omit<Options, 'json' | 'watch'> & Partial<Pick<Options, 'watch'>>,
  say: (text: string) => void,
  releases: Releases,
): Promise<ChaosReport> {
  const random = new Random(seed)
  const whole = phases.reduce((sum, phase) => sum + SHARES[phase], 0)
  const reports: PhaseReport[] = []
  for (const phase of phases) {
    const seconds = (60 * minutes * SHARES[phase]) / whole
    reports.push(await runPhase(phase, { seconds, random: random.fork(), say, isWatched: watch }, releases))
  }
  const sum = (kind: 'stored' | 'lost' | 'doubled' | 'wrong') =>
    reports.reduce((total, { verdict }) => total + verdict[kind], 0)
  return {
    seed,
    faults: reports.flatMap(({ faults }) => faults),
    clients: reports.flatMap(({ clients }, i) => clients.map((row) => ({ phase: phases[i]!, ...row }))),
    stored: sum('stored'),
    lost: sum('lost'),
    doubled: sum('doubled'),
    wrong: sum('wrong'),
    examples: reports.flatMap(({ verdict }) => verdict.examples),
  }
}

function print({ seed, faults, clients, stored, lost, doubled, wrong, examples }: ChaosReport): void {
  const out = process.stdout
  const kinds = [...new Set(faults.map(({ kind }) => kind))].sort()
  const row = (title: string, of: readonly InflictedFault[]) => {
    const times = of.map(({ goodAgainMs }) => goodAgainMs ?? Number.POSITIVE_INFINITY).sort((a, b) => a - b)
    const at = (share: number) => shown(times[Math.min(times.length - 1, Math.floor(times.length * share))]!)
    return [title, of.length, at(0.5), at(0.95), at(1)]
  }
  const rows = kinds.map((kind) =>
    row(
      kind,
      faults.filter((fault) => fault.kind === kind),
    ),
  )
  if (faults.length > 0) rows.push(row('all', faults))
  printSeen(faults)
  printClients(clients)
  out.write('\nSeconds from a fault to the next 200\n')
  printTable(out, ['FAULT', 'TIMES', 'MEDIAN', 'P95', 'LONGEST'], rows)
  out.write(`\n${stored} events stored, ${lost} lost, ${doubled} doubled, ${wrong} wrong; seed ${seed}\n`)
  for (const example of examples) out.write(`  ${example}\n`)
}

const ANSWERS = ['200', '202', '429', '500', '503', 'refused', 'reset', 'no answer'] as const

/** The clients' view of each fault. */
function printClients(clients: ChaosReport['clients']): void {
  const rows = clients.map(({ phase, fault, answers, waitMs }) => {
    const others = Object.entries(answers).filter(([name]) => !ANSWERS.some((one) => one === name))
    const counts = ANSWERS.map((name) => answers[name] ?? 0)
    const more = others.map(([name, count]) => `${count} ${name}`).join(', ')
    return [phase, fault, ...counts, more, ...Object.values(waitMs).map(shown)]
  })
  process.stdout.write('\nWhat clients saw: answers to all tries, and seconds until a request was accepted\n')
  const heads = ANSWERS.map((name) => name.toUpperCase())
  printTable(process.stdout, ['PHASE', 'WHILE', ...heads, 'OTHERS', 'MEDIAN', 'P99', 'LONGEST'], rows)
}

/** The operator's view of each fault. */
function printSeen(faults: readonly InflictedFault[]): void {
  const rows = faults.flatMap(({ phase, kind, seen }) => {
    if (seen === undefined) return []
    const { during, system, alerts, wellAfterS, quietAfterS } = seen
    const facts = during.facts.join(', ')
    const after = [wellAfterS, quietAfterS].map((seconds) => (seconds === undefined ? 'never' : `${seconds} s`))
    return [[phase, kind, during.level, facts, system ?? 'nothing', alerts.join(', ') || 'none', ...after]]
  })
  if (rows.length === 0) return
  const out = process.stdout
  out.write('\nWhat status, System and alerts said while each fault lasted, and when they were well after it\n')
  printTable(out, ['PHASE', 'FAULT', 'STATUS', 'FACTS', 'SYSTEM', 'ALERTS', 'OK AFTER', 'QUIET AFTER'], rows)
}

/** Faults that an operator could not see, or that were still shown two minutes after. */
function unseenIn(faults: readonly InflictedFault[]): string[] {
  return faults.flatMap(({ phase, kind, seen }) => {
    if (seen === undefined) return []
    const name = `${phase}: ${kind}`
    const { during, system = 'ok', alerts, wellAfterS, quietAfterS } = seen
    const isSeen = during.level !== 'ok' && (system !== 'ok' || ENDS_SYSTEM.test(kind)) && alerts.length > 0
    return [
      ...(isSeen || HARMLESS.test(kind)
        ? []
        : [`${name}: status said ${during.level}, System ${system}, and ${alerts.length} alerts fired`]),
      ...(wellAfterS === undefined ? [`${name}: the status was not ok within 2 min`] : []),
      ...(quietAfterS === undefined ? [`${name}: an alert still fired after 2 min`] : []),
    ]
  })
}

/** The page's own server ends with it. */
const ENDS_SYSTEM = /main killed/

/** Over within a fraction of a second, or no loss of service: nothing that an operator has to know. */
const HARMLESS =
  /cut before|cut after|late answers|consumers removed|second set|replica takes over|demoted by an operator/

function shown(ms: number): string {
  return Number.isFinite(ms) ? (ms / 1_000).toFixed(2) : 'never'
}

function readOptions(args: readonly string[]): Options {
  const command = new Command('npm run chaos --')
    .description('Breaks a running service in many ways under load, and counts what is lost, doubled or wrong (Linux).')
    .option('--minutes <n>', 'how long', atLeast(0.1), 10)
    .option('--seed <n>', 'the same seed draws the same faults', atLeast(0), randomInt(SEEDS))
    .option('--phases <names>', `some of ${PHASES.join(', ')}, with commas`, phasesNamed, [...PHASES])
    .option('--watch', 'every fault once, with what status, System and alerts say during it and after', false)
    .option('--json', 'print one JSON value', false)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_USAGE))
    .parse(args, { from: 'user' })
  return command.opts<Options>()
}

function atLeast(least: number): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (!(number >= least)) throw new InvalidArgumentError(`It is a number from ${least} on.`)
    return number
  }
}

function phasesNamed(text: string): PhaseName[] {
  return text.split(',').map((name) => {
    const found = PHASES.find((phase) => phase === name)
    if (found === undefined) throw new InvalidArgumentError(`There are ${PHASES.join(', ')}.`)
    return found
  })
}
