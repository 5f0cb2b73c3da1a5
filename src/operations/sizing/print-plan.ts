import { printLine, printTable } from '../../terminal/print.ts'
import { CLICKHOUSE_MEMORY, ROLE_MEMORY } from './constants.ts'
import { BUSY_SHARE, HOME_SECONDS, MERGE_SHARE, PEAK_FACTOR, type Plan } from './plan.ts'

const MB = 2 ** 20

/** Prints a plan for people: a table, sentences, settings, assumptions. */
export function printPlan(stdout: NodeJS.WritableStream, plan: Plan): void {
  const { traffic, cpu, redis, clickhouse, settings } = plan
  printLine(
    stdout,
    `${countText(traffic.eventsPerDay)} events a day: ${rateText(plan)}, kept ${traffic.retentionDays} days`,
  )
  printLine(stdout, '')
  const memory = (role: keyof typeof ROLE_MEMORY) => sizeText(ROLE_MEMORY[role].loadMb * MB)
  const half = coresText(cpu.worker / 2)
  printTable(
    stdout,
    ['PART', 'CORES AT THE PEAK', 'MEMORY', 'DISK', 'SCALES BY'],
    [
      ['ingress', coresText(cpu.ingress), memory('ingress'), '', 'any number; INGRESS_PROCESSES on one machine'],
      ['process', half, memory('process'), '', 'any number up to PARTITIONS'],
      ['sink', half, memory('sink'), '', 'SINK_SHARES'],
      ['batch', 'when uploads run', memory('batch'), '', 'FEEDER_SHARES'],
      [
        'archive',
        'when it is on',
        memory('archive'),
        traffic.isArchived ? sizeText(plan.archiveBytes) : '',
        'one works',
      ],
      ['dashboard', 'when people read', memory('dashboard'), '', 'any number'],
      ['Redis', coresText(cpu.redis), sizeText(settings.redisMemoryBytes), sizeText(redis.diskBytes), 'Redis Cluster'],
      [
        'ClickHouse',
        `${coresText(cpu.clickhouse)}; ${cpu.pages} for pages`,
        sizeText(clickhouse.memoryBytes),
        sizeText(clickhouse.diskBytes),
        'cores, then a cluster',
      ],
    ],
  )
  printLine(stdout, '')
  if (plan.tooMuch.length === 0) {
    printLine(stdout, `One machine is enough: ${machineText(plan)}, SSD.`)
  } else {
    printLine(stdout, `Too much for one machine (${machineText(plan)}):`)
    for (const reason of plan.tooMuch) printLine(stdout, `  ${reason}.`)
  }
  const ids = `${countText(redis.claims)} ids of the last 7 to 10.5 days take ${sizeText(redis.claimBytes)}`
  printLine(stdout, `Redis knows repeats by their ids: ${ids}.`)
  for (const line of bufferLines(plan)) printLine(stdout, line)
  printLine(
    stdout,
    `After ${traffic.retentionDays} days ClickHouse holds ${countText(plan.storedEvents)} events. Backups come on top, on another disk.`,
  )
  if (plan.beyond.length > 0) printLine(stdout, `Computed, not measured: ${plan.beyond.join('; ')}.`)
  printLine(stdout, '')
  const settingRows = settingsOf(plan).map(({ name, value, counts }) => [`${name}=${value}`, counts])
  printTable(stdout, ['SETTING', 'WHERE AND WHEN IT COUNTS'], settingRows)
  printLine(stdout, '')
  printLine(stdout, 'Assumed:')
  for (const line of assumptions(plan)) printLine(stdout, `  ${line}`)
}

/** A setting of a plan. */
interface PlannedSetting {
  readonly name: string
  readonly value: string
  /** Where and when it has an effect. */
  readonly counts: string
}

/** PARTITIONS is first, because it is fixed at the first start. */
export function settingsOf({ settings }: Plan): PlannedSetting[] {
  const { partitions, highWaterEvents, redisMaxMemoryBytes, redisMemoryBytes, clickhouseMemoryBytes } = settings
  const setting = (name: string, value: number | string, counts: string) => ({ name, value: String(value), counts })
  const everywhere = (file: string) => `everywhere; with Compose in ${file}`
  const composeOnly = 'Compose only, in .env'
  return [
    setting('PARTITIONS', partitions, 'only before the first start; later by backup and restore'),
    setting('SINK_SHARES', settings.sinkShares, everywhere('.env')),
    setting('INGRESS_PROCESSES', settings.ingressProcesses, everywhere('ipid.env')),
    setting('INTAKE_HIGH_WATER_EVENTS', highWaterEvents, everywhere('ipid.env')),
    setting('REDIS_MAX_MEMORY', `${mbOf(redisMaxMemoryBytes)}mb`, '"npm start", and Compose in .env'),
    setting('REDIS_MEMORY', `${mbOf(redisMemoryBytes)}m`, composeOnly),
    setting('CLICKHOUSE_MAX_MEMORY', `${mbOf(clickhouseMemoryBytes)}mb`, '"npm start" only'),
    setting('CLICKHOUSE_MEMORY', `${mbOf(clickhouseMemoryBytes)}m`, composeOnly),
  ]
}

function mbOf(bytes: number): number {
  return Math.ceil(bytes / MB)
}

function bufferLines({ buffer: { byDefault, planned, isCapped }, settings, traffic }: Plan): string[] {
  const times = ({ meanSeconds, peakSeconds }: typeof planned) =>
    `${timeText(meanSeconds)} at the mean rate, ${timeText(peakSeconds)} at the peak`
  const defaults =
    byDefault.meanSeconds > 0
      ? `With the defaults of Compose: ${times(byDefault)}`
      : 'The defaults of Compose do not even hold these ids, so intake would close with 429'
  return [
    `While ClickHouse is down, Redis takes events for ${times(planned)} (you asked for ${traffic.outageHours} h). Then requests get 429, and senders must repeat.`,
    ...(isCapped
      ? [`INTAKE_HIGH_WATER_EVENTS may be ${countText(settings.highWaterEvents)} at most, so more hours do not fit.`]
      : []),
    `${defaults}.`,
  ]
}

function assumptions({ traffic }: Plan): string[] {
  const { noise, eventsPerRequest, isArchived } = traffic
  return [
    `live events, ${eventsPerRequest} a request; an upload costs a quarter of the CPU of single events`,
    `the busiest minutes have ${PEAK_FACTOR} times the mean`,
    `${Math.round(noise * 100)} % are noise, which is answered and not stored`,
    `${Math.round(MERGE_SHARE * 100)} % of ClickHouse's disk stays free for merges`,
    isArchived ? 'payloads of 450 bytes are archived on this disk' : 'no archive (--archive), or one in a bucket',
    `all events are of one tenant, and its Home takes about ${HOME_SECONDS} s; cores are busy to ${Math.round(BUSY_SHARE * 100)} % at the peak`,
    `memory of roles is the most that was measured; that of Redis and ClickHouse is a limit, at least that of Compose`,
    `ClickHouse took ${CLICKHOUSE_MEMORY.restMb} MB at rest and ${CLICKHOUSE_MEMORY.loadMb} MB with a million events; its memory for pages of more was hardly measured`,
  ]
}

function machineText({ machine: { cores, memoryBytes, diskBytes } }: Plan): string {
  return `${cores} cores, ${sizeText(memoryBytes)} of memory, ${sizeText(diskBytes)} of disk`
}

function rateText({ meanPerSecond, peakPerSecond }: Plan): string {
  return `${rounded(meanPerSecond)} a second, ${rounded(peakPerSecond)} at the peak`
}

function coresText(cores: number): string {
  return cores < 0.1 ? 'under 0.1' : rounded(cores)
}

/** `1.5 GB`, of 2^30 bytes */
export function sizeText(bytes: number): string {
  const units = ['MB', 'GB', 'TB'] as const
  const power = bytes < 1_000 * MB ? 0 : bytes < 1_000 * 1_024 * MB ? 1 : 2
  return `${rounded(bytes / MB / 1_024 ** power)} ${units[power]}`
}

/** `3 million` */
export function countText(count: number): string {
  if (count >= 1e9) return `${rounded(count / 1e9)} billion`
  if (count >= 1e6) return `${rounded(count / 1e6)} million`
  return Math.round(count).toLocaleString('en-US')
}

/** `45 min`, `4.8 h`, `12 days` */
export function timeText(seconds: number): string {
  if (seconds < 5_400) return `${rounded(seconds / 60)} min`
  if (seconds < 172_800) return `${rounded(seconds / 3_600)} h`
  return `${rounded(seconds / 86_400)} days`
}

/** Two digits, because a plan is not more exact. */
function rounded(value: number): string {
  return Number(value.toPrecision(value >= 100 ? 3 : 2)).toLocaleString('en-US')
}
