import { existsSync } from 'node:fs'
import type { Redis } from 'ioredis'
import type { Config } from '../../config/config.ts'
import { version } from '../../config/version.ts'
import { REDIS_MAJOR_MIN } from '../../embedded/redis/binary.ts'
import { INTAKE_MEMORY_SHARE_MAX } from '../../pipeline/declaration/pipeline.ts'
import { partitionsOf } from '../../pipeline/streams/topology.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { assertReadable } from '../../stores/redis/data-form.ts'
import { appendOnlyLink } from '../../stores/redis/durability/append-only-file.ts'
import { mastersOf } from '../../stores/redis/nodes.ts'
import { assertNoRestore } from '../../stores/redis/restore-mark.ts'
import { COMPACT_MAX } from '../status/redis/dedup.ts'
import { infoValue, readServers } from '../status/redis/servers.ts'
import type { RedisStatus } from '../status/system-status.ts'
import { MEMORY_SHARE_HIGH, redisRisks } from '../status/verdict.ts'
import { bytesText } from '../status/words.ts'
import { type Finding, findingsOf, type Level } from './finding.ts'
import { problemOf } from './run-checks.ts'

export interface RedisSubject {
  readonly client: RedisClient
  readonly url: string
  readonly config: Config
}

/** Version, memory, and the form and origin of the data; and the durability settings that a status shows too. */
export async function checkRedis({ client, config }: RedisSubject): Promise<Finding[]> {
  const { problem, fine } = findingsOf('redis')
  const status = await readServers(client)
  const found = redisRisks(status).map(({ name, seen, why }) => {
    const [check, level, remedy] = REMEDIES[name]
    return { check, level, seen, why: sentence(why), remedy }
  })
  if (Number.parseInt(status.version, 10) < REDIS_MAJOR_MIN) {
    const why = 'ipid uses commands and scripts of Redis 7.0.'
    return [...found, problem(`Redis ${status.version}`, why, 'install Redis 7.0 or newer, or Valkey')]
  }
  return [fine(`Redis ${status.version} answers`), ...found, ...memoryOf(status), ...(await dataOf(client, config))]
}

const DURABLE = 'CONFIG SET does it at once; also change redis.conf, or it is lost with a restart'

/** For each risk of a status: the check that names it, its level, and the remedy. */
const REMEDIES = {
  'no-file': ['redis-disk', 'problem', `redis-cli CONFIG SET appendonly yes (${DURABLE})`],
  evicts: ['redis-memory', 'problem', `redis-cli CONFIG SET maxmemory-policy noeviction (${DURABLE})`],
  'too-few-replicas': ['redis-replicas', 'problem', 'start the missing replicas, or lower waitReplicas of REDIS_URL'],
  'no-replica': ['redis-replicas', 'risk', 'start a replica (replicaof MASTER PORT)'],
  'answers-alone': ['redis-replicas', 'risk', 'add waitReplicas=1 to REDIS_URL'],
} as const satisfies Record<string, readonly [check: string, level: Level, remedy: string]>

/** `: a restart …` → `A restart ….` */
function sentence(rest: string): string {
  const text = rest.replace(/^\W+/, '').replace(/^which /, 'this ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function memoryOf({ used_bytes: used, max_bytes: max, used_share: share }: RedisStatus): Finding[] {
  const { problem, risk, fine } = findingsOf('redis-memory')
  if (max === 0) {
    const why = 'Without a limit, a long outage of ClickHouse fills the memory until the system ends Redis.'
    const remedy = `redis-cli CONFIG SET maxmemory 2gb, or about half of its machine (${DURABLE})`
    return [risk(`${bytesText(used)} used, maxmemory is not set`, why, remedy)]
  }
  const seen = `${bytesText(used)} of ${bytesText(max)} used`
  const remedy = 'raise maxmemory (embedded: REDIS_MAX_MEMORY), and see the queues in "./ipid status"'
  if (share > INTAKE_MEMORY_SHARE_MAX) return [problem(seen, 'Intake is closed: requests are answered 429.', remedy)]
  if (share > MEMORY_SHARE_HIGH) {
    const closes = `${Math.round(INTAKE_MEMORY_SHARE_MAX * 100)} %`
    return [risk(seen, `At ${closes} intake closes, and requests are answered 429.`, remedy)]
  }
  return [fine(seen)]
}

/** Whether this version can work on the data in Redis, as a start asserts it. */
async function dataOf(client: RedisClient, { partitions }: Config): Promise<Finding[]> {
  const { problem, fine } = findingsOf('redis-data')
  try {
    await assertReadable(client, version())
    await assertNoRestore(client)
  } catch (error) {
    return [problemOf('redis-data', error as Error, 'ipid does not start on these data.')]
  }
  const stored = await partitionsOf(client)
  if (stored === 0 || stored === partitions)
    return [fine(stored === 0 ? 'no ipid has used it yet' : 'this version can read its data')]
  const seen = `PARTITIONS is ${partitions}, and this Redis holds ${stored} partitions`
  return [problem(seen, 'ipid does not start.', `set PARTITIONS=${stored}; more need a backup and a restore`)]
}

/** Settings that only `CONFIG GET` reports. */
const WANTED = [
  'appendfsync',
  'no-appendfsync-on-rewrite',
  'auto-aof-rewrite-percentage',
  'hash-max-listpack-entries',
] as const

/** How Redis writes to its disk, and how it keeps the dedup window. */
export async function checkRedisConfig({ client, url, config }: RedisSubject): Promise<Finding[]> {
  const found: Finding[] = []
  const masters = mastersOf(client)
  for (const master of masters) {
    const info = await master.info('persistence')
    found.push(...writesOf(info))
    const settings = await settingsOf(master)
    if (settings === undefined) {
      const { risk } = findingsOf('redis-disk')
      const why =
        'How it writes to its disk cannot be judged: accepted events survive a power failure only with appendfsync always.'
      found.push(
        risk(
          'this user may not read the settings of Redis',
          why,
          'grant CONFIG|GET to the user (ACL SETUSER … +config|get), or ask its provider',
        ),
      )
      continue
    }
    found.push(...judged(settings, isEmbedded(config) ? embeddedSync(url, config) : undefined))
  }
  const all = [...new Map(found.map((one) => [JSON.stringify(one), one])).values()]
  return all.length > 0
    ? all
    : [
        findingsOf('redis-disk').fine(
          isEmbedded(config) ? 'ipid syncs its file before it answers' : 'appendfsync always',
        ),
      ]
}

function isEmbedded({ redisUrl }: Config): boolean {
  return redisUrl === undefined
}

/** The effect of REDIS_FSYNC on `appendfsync`. Undefined when every answer waits for the disk. */
function embeddedSync(url: string, { redisFsync }: Config): string {
  return existsSync(appendOnlyLink(url.replace('unix://', ''))) ? 'always' : redisFsync
}

async function settingsOf(master: Redis): Promise<ReadonlyMap<string, string> | undefined> {
  try {
    const pairs = (await master.call('CONFIG', 'GET', ...WANTED)) as string[]
    return new Map(WANTED.map((name) => [name, pairs[pairs.indexOf(name) + 1] ?? '']))
  } catch {
    return undefined
  }
}

/** @param embedded when answers of the embedded Redis are on disk; undefined: it is the user's own */
function judged(settings: ReadonlyMap<string, string>, embedded: string | undefined): Finding[] {
  const { problem, risk } = findingsOf('redis-disk')
  const found: Finding[] = []
  const sync = embedded ?? settings.get('appendfsync')!
  if (sync !== 'always') {
    const lost =
      sync === 'no'
        ? 'a power failure loses answered events of up to half a minute'
        : 'a power failure loses answered events of up to two seconds'
    const remedy =
      embedded === undefined ? `redis-cli CONFIG SET appendfsync always (${DURABLE})` : 'unset REDIS_FSYNC, and restart'
    const name = embedded === undefined ? 'appendfsync' : 'REDIS_FSYNC'
    found.push(risk(`${name} is ${sync}`, `${lost.charAt(0).toUpperCase()}${lost.slice(1)}.`, remedy))
  }
  if (embedded !== undefined) return found
  if (settings.get('no-appendfsync-on-rewrite') === 'yes') {
    const why = 'While Redis rewrites its file, answered events are not on disk, and a power failure loses them.'
    found.push(
      risk('no-appendfsync-on-rewrite is yes', why, `redis-cli CONFIG SET no-appendfsync-on-rewrite no (${DURABLE})`),
    )
  }
  if (settings.get('auto-aof-rewrite-percentage') === '0') {
    const why = 'Redis never rewrites its file, which grows until the disk is full.'
    found.push(
      problem(
        'auto-aof-rewrite-percentage is 0',
        why,
        `redis-cli CONFIG SET auto-aof-rewrite-percentage 100 (${DURABLE})`,
      ),
    )
  }
  const packed = Number(settings.get('hash-max-listpack-entries'))
  if (packed < COMPACT_MAX) {
    const why = 'The dedup window takes about four times the memory.'
    const remedy = `redis-cli CONFIG SET hash-max-listpack-entries ${COMPACT_MAX} (${DURABLE})`
    found.push({ ...risk(`hash-max-listpack-entries is ${packed}`, why, remedy), check: 'redis-memory' })
  }
  return found
}

/** The result of the last writes to its file. */
function writesOf(info: string): Finding[] {
  const { problem, risk } = findingsOf('redis-disk')
  if (infoValue(info, 'aof_last_write_status') === 'err') {
    return [
      problem(
        'Redis could not write to its file',
        'It refuses writes: requests are answered 500.',
        'free space on its disk, and see its log',
      ),
    ]
  }
  if (infoValue(info, 'aof_last_bgrewrite_status') !== 'err') return []
  return [
    risk(
      'Redis could not rewrite its file',
      'The file grows until the disk is full.',
      'free space and memory, then redis-cli BGREWRITEAOF; see its log',
    ),
  ]
}

const LOOPBACK = /^(?:-?(?:127(?:\.\d+){3}|::1)|localhost)$/

/** Whether others can reach Redis without a password. */
export async function checkRedisDoor({ client, config }: RedisSubject): Promise<Finding[]> {
  if (isEmbedded(config)) return [findingsOf('redis-door').fine('on a unix socket that only this user reaches')]
  const { risk, fine } = findingsOf('redis-door')
  const [master] = mastersOf(client)
  if (master === undefined) return []
  const [open, pairs] = await Promise.all([isOpen(master), addressesOf(master)])
  if (open === undefined || pairs === undefined) return [fine('this user may not read its access settings')]
  const bind = (pairs.get('bind') ?? '').split(' ').filter(Boolean)
  const isLocal = pairs.get('port') === '0' || (bind.length > 0 && bind.every((address) => LOOPBACK.test(address)))
  if (!open) return [fine('it asks for a password')]
  if (isLocal) return [fine('no password, and only this machine reaches it')]
  if (pairs.get('protected-mode') === 'yes') return [fine('no password; protected mode refuses other machines')]
  return [
    risk(
      'no password, protected mode is off, and other machines reach it',
      'Anyone who reaches its port can read and change every event and key.',
      'redis-cli CONFIG SET requirepass PASSWORD, put it into redis.conf too, and into REDIS_URL (redis://:PASSWORD@host:port)',
    ),
  ]
}

/** Whether the default user needs no password; undefined when this user may not know. */
async function isOpen(master: Redis): Promise<boolean | undefined> {
  try {
    const facts = (await master.call('ACL', 'GETUSER', 'default')) as unknown[]
    const flags = facts[facts.indexOf('flags') + 1] as string[]
    return flags.includes('on') && flags.includes('nopass')
  } catch {
    return undefined
  }
}

async function addressesOf(master: Redis): Promise<ReadonlyMap<string, string> | undefined> {
  try {
    const names = ['bind', 'port', 'protected-mode']
    const pairs = (await master.call('CONFIG', 'GET', ...names)) as string[]
    return new Map(names.map((name) => [name, pairs[pairs.indexOf(name) + 1] ?? '']))
  } catch {
    return undefined
  }
}
