import { availableMemory } from '../../config/memory.ts'
import { assertLoadable } from '../../embedded/clickhouse/addon.ts'
import { searchRedis } from '../../embedded/redis/binary.ts'
import { firstManager } from '../../embedded/redis/install.ts'
import { chooseEngine } from '../../http/engine/choose.ts'
import { StartupError } from '../../run/errors.ts'
import { bytesText } from '../status/words.ts'
import { type Finding, findingsOf, type Subject } from './finding.ts'
import { problemOf, SkippedError } from './run-checks.ts'

/** A busy ingress has this many connections, and ClickHouse a file for each column that it reads. */
const OPEN_FILES_MIN = 4_096

/** What the process learns about itself. */
interface Report {
  readonly header: { readonly glibcVersionRuntime?: string }
  readonly userLimits: { readonly open_files: { readonly soft: number | 'unlimited' } }
}

/** Node.js, its C library, and how many files it may open. */
export function checkNode(): Finding[] {
  const { header, userLimits } = processReport()
  const { platform, arch, versions } = process
  const library =
    platform === 'linux' ? `, ${header.glibcVersionRuntime ? `glibc ${header.glibcVersionRuntime}` : 'no glibc'}` : ''
  const { soft } = userLimits.open_files
  const files = findingsOf('open-files')
  const isFew = typeof soft === 'number' && soft < OPEN_FILES_MIN
  return [
    findingsOf('node').fine(`Node.js ${versions.node} on ${platform}-${arch}${library}`),
    isFew
      ? files.risk(
          `a process may open ${soft} files`,
          'Each connection and each file of ClickHouse is one, and without a free one requests and inserts fail.',
          'ulimit -n 65536 before the start (systemd: LimitNOFILE=65536)',
        )
      : files.fine(`a process may open ${soft} files`),
  ]
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
    const { name, version, note, passedOver } = await chooseEngine(config.httpEngine)
    const seen = [name, version].filter(Boolean).join(' ')
    const slower = note ?? passedOver
    if (slower === undefined) return [fine(seen)]
    const remedy = 'use Node.js 24 on a system with glibc 2.38 or newer (Debian 13, Ubuntu 24.04), as the image does'
    if (note === undefined) return [fine(`${seen}; a newer build does not load: ${slower}`)]
    return [risk(`${seen}: ${slower}`, 'The API takes fewer requests a second than with uWebSockets.js.', remedy)]
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
      'When the stores use what they may, the system ends processes.',
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
    await assertLoadable()
    return [findingsOf(check).fine('its library loads')]
  } catch (error) {
    return [problemOf(check, error as Error, 'ipid does not start without a ClickHouse.')]
  }
}
