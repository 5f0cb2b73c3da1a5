import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError, Option } from 'commander'
import { printJson } from '../src/terminal/print.ts'
import { lastRelease } from '../test/upgrade/released.ts'
import { defaultLoader } from './loader/loader.ts'
import { checkOut } from './run/checkout.ts'
import { atLeastOne, type Options } from './run/options.ts'
import { type Releases, withReleases } from './run/releases.ts'
import { type Run, type ScenarioResult, summarise } from './run/results.ts'
import { runOnce } from './run/run.ts'
import type { Scenario } from './run/scenario.ts'
import { printResult } from './run/table.ts'
import { SCENARIOS } from './scenarios/all.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const EXIT_USAGE = 2

/** `npm run bench`. @param args arguments after the script */
export async function main(args: readonly string[]): Promise<void> {
  const options = readOptions(args)
  await withReleases((releases) => bench(options, releases))
}

async function bench(options: Options, releases: Releases): Promise<void> {
  const say = (text: string) => void process.stderr.write(`bench: ${text}\n`)
  const scenarios = SCENARIOS.filter(({ name }) => options.scenarios.length === 0 || options.scenarios.includes(name))
  const conditions = conditionsNow(options)
  if (!options.json) process.stdout.write(`${Object.values(conditions).join(', ')}\n`)
  const base = options.against === undefined ? undefined : await baseOf(options.against, releases)
  const results: ScenarioResult[] = []
  for (const scenario of scenarios) {
    const ofBase: Run[] = []
    const runs: Run[] = []
    for (let run = 1; run <= options.runs; run++) {
      const context = { options, releases, say }
      const title = `${scenario.name}, run ${run} of ${options.runs}`
      if (base !== undefined) {
        say(`${title}: base`)
        ofBase.push(await runOnce(scenario, { ...context, root: base, withBounds: false }))
      }
      say(base === undefined ? title : `${title}: branch`)
      runs.push(await runOnce(scenario, { ...context, root: ROOT, withBounds: options.bounds }))
    }
    const result = summarise(scenario.name, runs, ofBase)
    results.push(result)
    if (!options.json) printResult(process.stdout, result)
  }
  if (options.json) printJson(process.stdout, { ...conditions, against: options.against, results })
}

/** The checkout to compare with. @throws Error when it is not to be had */
async function baseOf(revision: string, releases: Releases): Promise<string> {
  if (revision !== 'last') return await checkOut(ROOT, revision, releases)
  const release = await lastRelease()
  if (typeof release === 'string') throw new Error(release)
  return release.root
}

/** The conditions that figures depend on. */
function conditionsNow({ loader = defaultLoader() }: Options) {
  return {
    node: `Node.js ${process.versions.node}`,
    cores: `${availableParallelism()} cores of ${cpus()[0]?.model ?? 'unknown'}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    load: `load average ${loadavg()[0]!.toFixed(1)} before`,
    loader: loader === 'wrk' ? 'loaded by wrk' : 'loaded by our own loader',
  }
}

function readOptions(args: readonly string[]): Options {
  const command = new Command('npm run bench --')
    .description('Measures a whole instance under load, and bounds to compare with, on this machine (Linux).')
    .argument('[scenario...]', 'names of scenarios (default: all)', (name: string, named: string[] = []) => {
      return [...named, scenarioNamed(name).name]
    })
    .option('--json', 'print one JSON value', false)
    .option('--runs <n>', 'runs of each scenario', atLeastOne, 3)
    .option('--seconds <n>', 'seconds of each load', atLeastOne)
    .option('--connections <n>', 'connections of each load', atLeastOne)
    .option(
      '--against <revision>',
      'run another revision in turn with this checkout; last: the last release, with its packages',
    )
    .addOption(new Option('--loader <name>', 'the loader (default: wrk if it is on PATH)').choices(['wrk', 'own']))
    .option('--no-bounds', 'skip the bounds to compare with')
    .option('--set <NAME=VALUE>', 'a setting of the product; may be repeated', setting, {})
    .option('--lines <n>', 'lines of an upload', atLeastOne, 1_000_000)
    .option('--stored <n>', 'events already stored, for the scenario stored', atLeastOne, 1_000_000)
    .option('--tenants <n>', 'sending tenants, for the scenario tenants', atLeastOne, 100)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_USAGE))
    .addHelpText('after', `\nScenarios:\n${SCENARIOS.map(helpOf).join('\n')}`)
    .parse(args, { from: 'user' })
  const scenarios: string[] = command.processedArgs[0] ?? []
  return { ...command.opts<Omit<Options, 'scenarios'>>(), scenarios }
}

function helpOf({ name, summary }: Scenario): string {
  return `  ${name.padEnd(12)} ${summary}`
}

function scenarioNamed(name: string): Scenario {
  const found = SCENARIOS.find((scenario) => scenario.name === name)
  if (found === undefined) {
    throw new InvalidArgumentError(`Must be one of ${SCENARIOS.map((scenario) => scenario.name).join(', ')}.`)
  }
  return found
}

function setting(text: string, others: Record<string, string>): Record<string, string> {
  const [, name, value] = /^([A-Z_]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined) throw new InvalidArgumentError('Must be NAME=VALUE.')
  return { ...others, [name]: value! }
}
