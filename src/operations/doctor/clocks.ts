import type { ClickHouseClient } from '@clickhouse/client'
import { read } from '../../stores/clickhouse/cluster.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { mastersOf } from '../../stores/redis/nodes.ts'
import { clockAheadMs, SKEW_MAX_MS } from '../status/clocks.ts'
import { redisTimeMs } from '../status/redis/servers.ts'
import { ageText } from '../status/words.ts'
import { type Finding, findingsOf } from './finding.ts'

/** Answers of a busy server vary by less. */
const SKEW_WISE_MS = 2_000

export async function checkRedisClock(client: RedisClient): Promise<Finding[]> {
  const [master] = mastersOf(client)
  if (master === undefined) return []
  const [, aheadMs] = await clockAheadMs(() => master.time(), redisTimeMs)
  return [clockFinding('Redis', aheadMs)]
}

export async function checkClickHouseClock(client: ClickHouseClient): Promise<Finding[]> {
  const ask = () => read<[number]>(client, 'SELECT toUnixTimestamp64Milli(now64(3))')
  const [, aheadMs] = await clockAheadMs(ask, ([row]) => row![0])
  return [clockFinding('ClickHouse', aheadMs)]
}

/** @param skewMs how far its clock is certainly ahead of this machine's */
export function clockFinding(name: string, skewMs: number): Finding {
  const { problem, risk, fine } = findingsOf('clocks')
  const size = Math.abs(skewMs)
  const seen = `the clock of ${name} is ${ageText(size)} ${skewMs < 0 ? 'behind' : 'ahead of'} this machine's`
  const remedy = 'let chrony or systemd-timesyncd set both clocks (timedatectl set-ntp true)'
  if (size >= SKEW_MAX_MS) {
    return problem(
      seen,
      'Days, quotas and retention begin at different moments, and times of events are wrong.',
      remedy,
    )
  }
  if (size >= SKEW_WISE_MS) return risk(seen, 'Days, quotas and retention begin at different moments.', remedy)
  return fine(`${name} and this machine agree`)
}
