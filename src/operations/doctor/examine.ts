import type { ClickHouseClient } from '@clickhouse/client'
import { shown } from '../../config/values.ts'
import { causeText } from '../../run/cause-text.ts'
import type { StartupError } from '../../run/errors.ts'
import { tlsProblemOf } from '../../run/tls-problem.ts'
import { connectClickHouse, DATABASE } from '../../stores/clickhouse/client.ts'
import { connectRedis } from '../../stores/redis/connect.ts'
import { readyWithin } from '../../terminal/stores.ts'
import {
  type ClickHouseSubject,
  checkClickHouse,
  checkClickHouseDisk,
  checkClickHouseRights,
  checkExactlyOnce,
} from './clickhouse.ts'
import { checkClickHouseClock, checkRedisClock } from './clocks.ts'
import { checkDoors } from './doors.ts'
import { checkEnrichment } from './enrichment.ts'
import { checkDataDir, checkSecretsKey } from './files.ts'
import { ANSWER_MS, type Finding, findingsOf, type Subject } from './finding.ts'
import { checkEmbeddedClickHouse, checkEngine, checkMemory, checkNode, checkRedisServer } from './machine.ts'
import { checkArchive, checkBackupPlace, checkBackups } from './objects.ts'
import { checkPorts } from './ports.ts'
import { checkRedis, checkRedisConfig, checkRedisDoor, type RedisSubject } from './redis.ts'
import { refusalOf } from './refusals.ts'
import { type Check, problemOf, runChecks } from './run-checks.ts'
import { checkSecrets } from './secrets.ts'
import { checkService } from './service.ts'
import { checkSignIn } from './sign-in.ts'
import { checkWork } from './work.ts'

/** Looks at a machine, its files, and the stores that answer. Changes nothing, and ends within seconds when servers are silent. */
export async function examine(subject: Subject): Promise<Finding[]> {
  const { config, running } = subject
  const redisUrl = running?.redis_url ?? config.redisUrl
  const clickhouseUrl = running?.clickhouse_url || config.clickhouseUrl
  const machine: Check[] = [
    { name: 'node', run: checkNode },
    { name: 'http-engine', run: () => checkEngine(subject) },
    { name: 'memory', run: () => checkMemory(subject) },
    { name: 'service', run: () => checkService(subject) },
    { name: 'data-dir', run: () => checkDataDir(subject) },
    { name: 'secrets-key', run: () => checkSecretsKey(subject) },
    { name: 'ports', run: () => checkPorts(subject) },
    { name: 'doors', run: () => checkDoors(subject) },
    { name: 'sign-in', run: () => checkSignIn(subject) },
    { name: 'archive', run: () => checkArchive(subject) },
    { name: 'backups', run: () => checkBackupPlace(subject) },
  ]
  const programs: Check[] = [
    { name: 'redis-server', run: () => checkRedisServer(subject) },
    { name: 'embedded-clickhouse', run: () => checkEmbeddedClickHouse(subject) },
  ]
  const [ofMachine, ofRedis, ofClickHouse] = await Promise.all([
    runChecks(running === undefined ? [...machine, ...programs] : machine),
    redisUrl === undefined ? [] : examineRedis(redisUrl, subject, clickhouseUrl),
    clickhouseUrl === undefined ? [] : examineClickHouse(clickhouseUrl, subject),
  ])
  // Last, because reading large files keeps this process from noticing answers.
  const ofData = await runChecks([{ name: 'enrichment-data', run: () => checkEnrichment(subject) }])
  return [...ofMachine, ...ofData, ...ofRedis, ...ofClickHouse]
}

async function examineRedis(url: string, subject: Subject, clickhouseUrl: string | undefined): Promise<Finding[]> {
  const client = connectRedis(url, { name: 'doctor', kind: 'request', timeoutMs: ANSWER_MS })
  client.on('error', () => {})
  try {
    await readyWithin(client, url, ANSWER_MS)
    const facts: RedisSubject = { client, url, config: subject.config }
    return await runChecks([
      { name: 'redis', run: () => checkRedis(facts) },
      { name: 'redis-disk', run: () => checkRedisConfig(facts) },
      { name: 'redis-door', run: () => checkRedisDoor(facts) },
      { name: 'clocks', run: () => checkRedisClock(client) },
      { name: 'work', run: () => checkWork(client, subject, clickhouseUrl) },
      { name: 'secrets', run: () => checkSecrets(client, subject) },
      { name: 'backups', run: () => checkBackups(client) },
    ])
  } catch (error) {
    const why = 'Requests are answered 500, and ipid does not start.'
    const { remedy = remedyFor('Redis', 'REDIS_URL', subject) } = error as Partial<StartupError>
    return [{ ...problemOf('redis', error as Error, why), remedy }]
  } finally {
    client.disconnect()
  }
}

async function examineClickHouse(url: string, subject: Subject): Promise<Finding[]> {
  const options = { application: 'doctor', requestTimeoutMs: ANSWER_MS }
  // The database may not exist yet.
  const [client, ofDatabase] = [undefined, DATABASE].map((database) =>
    connectClickHouse(url, { ...options, database }),
  ) as [ClickHouseClient, ClickHouseClient]
  try {
    try {
      await (await client.query({ query: 'SELECT 1' })).text()
    } catch (error) {
      const refusal = refusalOf('clickhouse', error, url)
      if (refusal !== undefined) return [refusal]
      const tls = tlsProblemOf(error, 'CLICKHOUSE_URL')
      const seen = `cannot reach ClickHouse at ${JSON.parse(shown(url))}: ${tls?.reason ?? causeText(error)}`
      const { problem } = findingsOf('clickhouse')
      const remedy = tls?.remedy ?? remedyFor('ClickHouse', 'CLICKHOUSE_URL', subject)
      return [problem(seen, 'Events wait in Redis until it answers.', remedy)]
    }
    const { config, running } = subject
    const facts: ClickHouseSubject = { client, ofDatabase, url, config, isRunning: running !== undefined }
    const check = (name: string, ask: () => Promise<Finding[]>): Check => ({
      name,
      run: () =>
        ask().catch((error: Error) => {
          const refusal = refusalOf(name, error, url)
          if (refusal === undefined) throw error
          return [refusal]
        }),
    })
    return await runChecks([
      check('clickhouse', () => checkClickHouse(facts)),
      check('clickhouse-rights', () => checkClickHouseRights(facts)),
      check('exactly-once', () => checkExactlyOnce(facts)),
      check('clickhouse-disk', () => checkClickHouseDisk(facts)),
      check('clocks', () => checkClickHouseClock(facts.client)),
    ])
  } finally {
    await Promise.all([client.close(), ofDatabase.close()])
  }
}

function remedyFor(store: string, setting: string, { running, config }: Subject): string {
  const isOwn = config.given.includes(setting === 'REDIS_URL' ? 'redisUrl' : 'clickhouseUrl')
  if (running !== undefined && !isOwn)
    return 'ipid starts it again when it has ended; if this stays, see the log of ipid, and restart ipid'
  return `start ${store}, and check address and password in ${setting}`
}
