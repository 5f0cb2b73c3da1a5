import { DAYS_OF_MONTH, DEFAULTS } from './defaults.ts'
import type { Limits, Traffic } from './plan.ts'
import { planFor } from './plan.ts'
import { countText, sizeText, timeText } from './print-plan.ts'

const MILLIONS = [1, 10, 100]

/** The table of README.md: a row for 1, 10 and 100 million events a month and a day, in Markdown. */
export function sizingTable(limits: Limits): string[] {
  const rows = [DAYS_OF_MONTH, 1].flatMap((days) =>
    MILLIONS.map((millions) => {
      const traffic: Traffic = {
        ...DEFAULTS,
        noise: DEFAULTS.noise / 100,
        eventsPerDay: (millions * 1e6) / days,
        isArchived: false,
      }
      const { machine, redis, clickhouse, buffer, settings, tooMuch } = planFor(traffic, limits)
      return [
        `${countText(millions * 1e6)} a ${days === 1 ? 'day' : 'month'}`,
        `${machine.cores}${tooMuch.length > 0 ? ', several machines' : ''}`,
        sizeText(machine.memoryBytes),
        sizeText(settings.redisMaxMemoryBytes),
        sizeText(redis.diskBytes),
        sizeText(clickhouse.diskBytes),
        String(settings.partitions),
        buffer.byDefault.meanSeconds > 0 ? timeText(buffer.byDefault.meanSeconds) : 'too small',
      ]
    }),
  )
  const head = [
    'events',
    'cores',
    'memory',
    '`REDIS_MAX_MEMORY`',
    'disk of Redis',
    'disk of ClickHouse, a year',
    '`PARTITIONS`',
    'outage, defaults of Compose',
  ]
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
}
