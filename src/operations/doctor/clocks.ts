import type { ClickHouseClient } from '@clickhouse/client'
import { read } from '../../stores/clickhouse/cluster.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { mastersOf } from '../../stores/redis/nodes.ts'
import { ageText } from '../status/words.ts'
import { type Finding, findingsOf } from './finding.ts'

/** Answers of a busy server vary by less. */
const SKEW_WISE_MS = 2_000
/** Later reports of a process count as none (`FRESH_MS` of reports). */
const SKEW_MAX_MS = 20_000

export async function checkRedisClock(client: RedisClient): Promise<Finding[]> {
  const [master] = mastersOf(client)
  if (master === undefined) return []
  return await compare('Redis', async () => {
    const [seconds, micros] = await master.time()
    return Number(seconds) * 1_000 + Number(micros) / 1_000
  })
}

export async function checkClickHouseClock(client: ClickHouseClient): Promise<Finding[]> {
  return await compare('ClickHouse', async () => {
    const [row] = await read<[number]>(client, 'SELECT toUnixTimestamp64Milli(now64(3))')
    return row![0]
  })
}

/** Takes the middle of the question and its answer as the moment of the server's time. */
async function compare(name: string, ask: () => Promise<number>): Promise<Finding[]> {
  const beforeMs = Date.now()
  const theirsMs = await ask()
  const afterMs = Date.now()
  const outsideMs = theirsMs < beforeMs ? theirsMs - beforeMs : Math.max(0, theirsMs - afterMs)
  return [clockFinding(name, outsideMs)]
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
      'Processes take one another for gone, and days, quotas and retention begin at different moments.',
      remedy,
    )
  }
  if (size >= SKEW_WISE_MS) return risk(seen, 'Days, quotas and retention begin at different moments.', remedy)
  return fine(`${name} and this machine agree`)
}
