import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { printTable } from '../src/terminal/print.ts'
import { checkOut } from './run/checkout.ts'
import { type Releases, withReleases } from './run/releases.ts'
import { startInstance } from './support/instance.ts'
import { percentile } from './support/load.ts'

/**
 * Measures ten commands against a running instance: CPU of all their processes and time until they end, medians of `ROUNDS` (10).
 * `node --import tsx bench/commands.ts [REVISION…]` runs other revisions in turn with this checkout, with the packages of this one.
 */
const rounds = Number(process.env.ROUNDS ?? 10)

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const COMMANDS = [
  '--version',
  '--help',
  'version',
  'status',
  'tenant list',
  'key list demo',
  'rules list demo',
  'company list demo',
  'enrich 17.253.144.10',
  'db list',
]

interface Measured {
  readonly cpuMs: number
  readonly wallMs: number
}

/** Undefined when the revision does not have the command. */
function measure(root: string, command: string, dataDir: string): Measured | undefined {
  const args = ['-c', 'TIMEFORMAT="%R %U %S"; time "$@" >/dev/null 2>&1', 'bash', './ipid', ...command.split(' ')]
  const env = { ...process.env, DATA_DIR: dataDir, DEFAULT_DATA: 'off' }
  const { status, stderr } = spawnSync('bash', args, { cwd: root, env, encoding: 'utf8' })
  if (status !== 0) return undefined
  const [wall, user, system] = stderr.trim().split(' ').map(Number) as [number, number, number]
  return { cpuMs: (user + system) * 1_000, wallMs: wall * 1_000 }
}

async function bench(revisions: readonly string[], releases: Releases): Promise<void> {
  const roots = [ROOT]
  for (const revision of revisions) roots.push(await checkOut(ROOT, revision, releases))
  const { dataDir } = await startInstance({ DEFAULT_DATA: 'off' }, { onLaunch: (stop) => void releases.add(stop) })
  const measured = new Map<string, Measured[]>()
  // The first round builds and fills caches of files.
  for (let round = 0; round <= rounds; round++) {
    for (const command of COMMANDS) {
      for (const root of round % 2 === 0 ? roots : roots.toReversed()) {
        const found = measure(root, command, dataDir)
        const key = `${root} ${command}`
        if (round > 0 && found !== undefined) measured.set(key, [...(measured.get(key) ?? []), found])
      }
    }
  }
  const rows = COMMANDS.map((command) => [
    command,
    ...roots.flatMap((root) => {
      const found = measured.get(`${root} ${command}`)
      return [median(found?.map(({ cpuMs }) => cpuMs)), median(found?.map(({ wallMs }) => wallMs))]
    }),
  ])
  const headings = ['this checkout', ...revisions].flatMap((name) => [`${name}: CPU ms`, 'ms'])
  printTable(process.stdout, ['', ...headings], rows)
}

function median(values: number[] = []): string {
  return values.length === 0
    ? '-'
    : percentile(
        values.toSorted((a, b) => a - b),
        0.5,
      ).toFixed(0)
}

await withReleases((releases) => bench(process.argv.slice(2), releases))
