import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { atLeastOne } from '../../bench/run/options.ts'
import { type Releases, withReleases } from '../../bench/run/releases.ts'
import { printJson, printTable } from '../../src/terminal/print.ts'
import { copyOf } from './checkout.ts'
import { MUTANTS, type NumberedMutant } from './list/all.ts'
import { broken } from './mutant.ts'
import { judge, type Result, runBaseline } from './run.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const EXIT_SURVIVED = 1
const EXIT_USAGE = 2

interface Options {
  readonly mutants: readonly NumberedMutant[]
  readonly json: boolean
  readonly jobs: number
  readonly baseline: boolean
}

/** `npm run mutants`. @param args without the names of node and of the script */
export async function main(args: readonly string[]): Promise<void> {
  const options = readOptions(args)
  await withReleases(async (releases) => {
    const results = await runAll(options, releases)
    if (options.json) printJson(process.stdout, results)
    else print(results)
    if (results.some(({ verdict }) => verdict.kind !== 'noticed')) process.exitCode = EXIT_SURVIVED
  })
}

async function runAll({ mutants, jobs, baseline }: Options, releases: Releases): Promise<readonly Result[]> {
  for (const mutant of mutants) broken(mutant, readFileSync(join(ROOT, mutant.file), 'utf8'))
  const dirs = await Promise.all(Array.from({ length: jobs }, () => copyOf(ROOT, releases)))
  if (baseline) {
    const files = [...new Set(mutants.flatMap(({ noticedBy }) => noticedBy.map(([file]) => file)))]
    await inTurn(files, dirs, async (file, dir, number) => {
      say(`without mutants, ${number} of ${files.length}: ${file}`)
      await runBaseline(dir, file, mutants, releases)
    })
  }
  const results = await inTurn(mutants, dirs, async (mutant, dir, number) => {
    const result = await judge(dir, mutant, releases)
    const { kind } = result.verdict
    say(`${number} of ${mutants.length}: ${mutant.name} ${kind}, ${result.seconds} s`)
    return result
  })
  return results
}

/** Runs a function on each item, in all folders at once. Results keep the order of the items. */
async function inTurn<Item, Done>(
  items: readonly Item[],
  dirs: readonly string[],
  work: (item: Item, dir: string, number: number) => Promise<Done>,
): Promise<Done[]> {
  const done: Done[] = []
  let next = 0
  const loop = async (dir: string) => {
    while (next < items.length) {
      const at = next++
      done[at] = await work(items[at]!, dir, at + 1)
    }
  }
  await Promise.all(dirs.map(loop))
  return done
}

function print(results: readonly Result[]): void {
  const rows = results.map(({ mutant, verdict, seconds }) => {
    const by = verdict.kind === 'survived' ? undefined : cut(`${verdict.test}: ${verdict.by}`)
    return [mutant, verdict.kind, seconds, by]
  })
  printTable(process.stdout, ['MUTANT', 'VERDICT', 'SECONDS', 'BY'], rows)
  const unnoticed = results.filter(({ verdict }) => verdict.kind !== 'noticed')
  process.stdout.write(`\n${results.length - unnoticed.length} of ${results.length} noticed\n`)
  for (const { mutant, promise, verdict } of unnoticed) {
    process.stdout.write(`${mutant} ${verdict.kind}: nothing holds that ${promise}\n`)
  }
}

const COLUMN_MAX = 160

function cut(text: string): string {
  return text.length > COLUMN_MAX ? `${text.slice(0, COLUMN_MAX - 1)}…` : text
}

function say(text: string): void {
  process.stderr.write(`mutants: ${text}\n`)
}

function readOptions(args: readonly string[]): Options {
  const command = new Command('npm run mutants --')
    .description(
      'Breaks promises of the product one at a time, in a copy of this checkout, and sees whether tests notice.',
    )
    .argument('[name...]', 'which; all when none is named', (name: string, named: NumberedMutant[] = []) => {
      return [...named, mutantNamed(name)]
    })
    .option('--json', 'print one JSON value', false)
    .option('--jobs <n>', 'mutants at a time', atLeastOne, 1)
    .option('--no-baseline', 'leave out the run of the tests without a mutant')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_USAGE))
    .addHelpText(
      'after',
      `\nMutants, each after the number of its invariant in src/README.md:\n${MUTANTS.map(({ name, invariant, promise }) => `  ${invariant}  ${name.padEnd(28)} ${promise}`).join('\n')}`,
    )
    .parse(args, { from: 'user' })
  const named: readonly NumberedMutant[] = command.processedArgs[0] ?? []
  const mutants = named.length > 0 ? named : MUTANTS
  return { ...command.opts<Omit<Options, 'mutants'>>(), mutants }
}

function mutantNamed(name: string): NumberedMutant {
  const found = MUTANTS.find((mutant) => mutant.name === name)
  if (found === undefined) throw new InvalidArgumentError(`There is no mutant ${name}; --help names them.`)
  return found
}
