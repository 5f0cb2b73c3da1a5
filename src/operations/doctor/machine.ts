import { availableMemory } from '../../config/memory.ts'
import { tryLibrary } from '../../embedded/clickhouse/try-library.ts'
import { searchRedis } from '../../embedded/redis/binary.ts'
import { firstManager } from '../../embedded/redis/install.ts'
import { chooseEngine } from '../../http/engine/choose.ts'
import { StartupError } from '../../run/errors.ts'
import { bytesText } from '../status/words.ts'
import { type Finding, findingsOf, type Subject } from './finding.ts'
import { problemOf, SkippedError } from './run-checks.ts'

/** A busy ingress has this many connections, and ClickHouse a file for each column that it reads. */
const OPEN_FILES_MIN = 4_096

/** When support of a major version of Node.js ends: https://github.com/nodejs/release */
const NODE_SUPPORT_ENDS: Readonly<Record<number, string>> = {
  ...{ 20: '2026-04-30', 21: '2024-06-01', 22: '2027-04-30', 23: '2025-06-01', 24: '2028-04-30' },
  ...{ 25: '2026-06-01', 26: '2029-04-30' },
}

/** The process's facts about itself. */
interface Report {
  readonly header: { readonly glibcVersionRuntime?: string }
  readonly userLimits: { readonly open_files: { readonly soft: number | 'unlimited' } }
}

/** Node.js, its C library, and how many files it may open. */
export function checkNode(): Finding[] {
  const { soft } = processReport().userLimits.open_files
  const files = findingsOf('open-files')
  const isFew = typeof soft === 'number' && soft < OPEN_FILES_MIN
  return [
    nodeFinding(thisMachine(), Date.now()),
    isFew
      ? files.risk(
          `a process may open ${soft} files`,
          'Each connection and each file of ClickHouse is one, and without a free one requests and inserts fail.',
          'ulimit -n 65536 before the start (systemd: LimitNOFILE=65536)',
        )
      : files.fine(`a process may open ${soft} files`),
  ]
}

/** Node.js and the system below it. */
export interface Machine {
  readonly node: string
  readonly platform: string
  readonly arch: string
  /** Undefined on macOS, and with another C library. */
  readonly glibc: string | undefined
}

/** Whether Node.js still gets security fixes. A version newer than our list does. */
export function nodeFinding({ node, platform, arch, glibc }: Machine, now: number): Finding {
  const { risk, fine } = findingsOf('node')
  const library = platform === 'linux' ? `, ${glibc ? `glibc ${glibc}` : 'no glibc'}` : ''
  const seen = `Node.js ${node} on ${platform}-${arch}${library}`
  const end = NODE_SUPPORT_ENDS[Number.parseInt(node, 10)]
  if (end === undefined || now < Date.parse(end)) return fine(seen)
  return risk(
    `${seen}: out of support since ${end}`,
    'Security holes that are found in it stay open.',
    'use Node.js 24',
  )
}

/** The native HTTP engine, which is faster than `node:http`. */
export function engineRemedy({ platform, glibc = '0.0' }: Pick<Machine, 'platform' | 'glibc'>): string {
  const [major, minor] = glibc.split('.').map(Number) as [number, number]
  if (platform === 'darwin' || major > 2 || (major === 2 && minor >= 38)) return 'use Node.js 24'
  return 'use Node.js 24 on a system with glibc 2.38 or newer (Debian 13, Ubuntu 24.04), as the image does'
}

function thisMachine(): Machine {
  const { platform, arch, versions } = process
  return { node: versions.node, platform, arch, glibc: processReport().header.glibcVersionRuntime }
}

function processReport(): Report {
  const { report } = process as unknown as { report: { excludeNetwork: boolean; getReport(): Report } }
  // Otherwise it asks name servers for the names of all connections.
  report.excludeNetwork = true
  return report.getReport()
}

/** The HTTP engine that loads, and why a faster one does not. */
export async function checkEngine({ config, roles }: Subject): Promise<Finding[]> {
  if (!roles.includes('ingress')) throw new SkippedError('only the ingress uses it')
  const { risk, fine } = findingsOf('http-engine')
  try {
    const { name, version, note, passedOver } = await chooseEngine(
      config.httpEngine,
      config.httpIdleSeconds !== undefined,
    )
    const seen = [name, version].filter(Boolean).join(' ')
    const slower = note ?? passedOver
    if (slower === undefined) return [fine(seen)]
    if (note === undefined) return [fine(`${seen}; a newer build does not load: ${slower}`)]
    return [
      risk(
        `the API runs on ${seen}: ${slower}`,
        'It takes fewer requests a second than with uWebSockets.js.',
        engineRemedy(thisMachine()),
      ),
    ]
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    const { problem } = findingsOf('http-engine')
    return [
      problem(
        error.message,
        'The ingress does not start.',
        'unset HTTP_ENGINE: it then takes the fastest that runs here',
      ),
    ]
  }
}

/** Whether the stores that ipid would start itself fit into the memory of the machine. */
export function checkMemory({ config, roles }: Subject): Finding[] {
  const parts = [
    ...(config.redisUrl === undefined ? [['REDIS_MAX_MEMORY', config.redisMaxMemoryBytes] as const] : []),
    ...(config.clickhouseUrl === undefined && roles.includes('sink')
      ? [['CLICKHOUSE_MAX_MEMORY', config.clickhouseMaxMemoryBytes] as const]
      : []),
  ]
  if (parts.length === 0) throw new SkippedError('all stores are elsewhere')
  const { risk, fine } = findingsOf('memory')
  const memory = availableMemory()
  const sum = parts.reduce((total, [, bytes]) => total + bytes, 0)
  const seen = `${parts.map(([name, bytes]) => `${name} ${bytesText(bytes)}`).join(', ')} of ${bytesText(memory)}`
  if (sum <= memory) return [fine(seen)]
  return [
    risk(
      seen,
      'When the stores reach their limits, the system kills processes.',
      `set ${parts.map(([name]) => name).join(' and ')} to less than ${bytesText(memory)} together`,
    ),
  ]
}

/** The programs of the embedded stores. */
export async function checkRedisServer({ config, env }: Subject): Promise<Finding[]> {
  if (config.redisUrl !== undefined) throw new SkippedError('REDIS_URL is set')
  const { problem, risk, fine } = findingsOf('redis-server')
  const path = env.PATH ?? ''
  const found = await searchRedis({ path })
  if (!(found instanceof StartupError)) return [fine(`${found.path}, version ${found.version}`)]
  const { reason, remedy = '' } = found
  const manager = await firstManager({ path, log: { info() {}, warn() {} } })
  if (manager === undefined) return [problem(reason, 'ipid does not start without a Redis.', remedy)]
  return [risk(reason, `The first start installs one with ${manager}, if the machine reaches its packages.`, remedy)]
}

export async function checkEmbeddedClickHouse({ config, roles }: Subject): Promise<Finding[]> {
  if (config.clickhouseUrl !== undefined || !roles.includes('sink')) throw new SkippedError('it is not used')
  const check = 'embedded-clickhouse'
  try {
    const { walled } = await tryLibrary()
    const { fine, risk } = findingsOf(check)
    if (config.clickhouseExternal === 'on') {
      return [fine('its library loads; CLICKHOUSE_EXTERNAL lets statements reach files, programs and other servers')]
    }
    if (walled) return [fine('its library loads, and the kernel denies it all files but its own')]
    if (process.platform !== 'linux') return [fine('its library loads; this system cannot deny it files of others')]
    return [
      risk(
        'its library loads, but nothing denies it files of others: Landlock or /usr/bin/perl is missing',
        'A statement of an analyst (INSERT … FROM INFILE) can then read every file that this user may read.',
        'use Linux 5.19 or newer, with perl installed',
      ),
    ]
  } catch (error) {
    return [problemOf(check, error as Error, 'ipid does not start without a ClickHouse.')]
  }
}
