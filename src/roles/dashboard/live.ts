import { sourcesDirOf } from '../../config/config.ts'
import type { EventStreams } from '../../dashboard/server/event-streams.ts'
import { LiveHub } from '../../dashboard/server/live-hub.ts'
import type { DeadLetterParts } from '../../dashboard/server/routes/dead-letters.ts'
import type { LiveParts } from '../../dashboard/server/routes/live.ts'
import type { SystemParts } from '../../dashboard/server/routes/system.ts'
import { systemFeed } from '../../dashboard/server/system-feed.ts'
import { attributionOf } from '../../enrichment/files/attribution.ts'
import { redisLetterDesk } from '../../redis/dashboard/letter-desk.ts'
import { RedisLiveSource } from '../../redis/dashboard/live.ts'
import { DeadLetters } from '../../redis/streams/dead-letters.ts'
import { collectStatus } from '../../status/collect.ts'
import type { Parts } from '../parts.ts'
import { stallLimits, statusSources } from '../status.ts'
import { FolderUpdates } from './data-updates.ts'

/** What goes on: events as they arrive, the system as an operator sees it, dead letters. */
export function liveParts(parts: Parts, streams: EventStreams): LiveParts & SystemParts & DeadLetterParts {
  const { config, pipeline, shared, telemetry } = parts
  const source = new RedisLiveSource(parts.connect({ name: 'live', kind: 'loop' }), shared)
  const { clock } = telemetry
  const sources = statusSources({
    redis: shared,
    clickhouseUrl: config.clickhouseUrl,
    pipeline,
    plans: config.plans,
    clock,
  })
  const limits = stallLimits(config, pipeline)
  const updates = new FolderUpdates({
    dir: sourcesDirOf(config),
    engine: parts.enrichment.engine,
    hosts: async () => (await sources.reports()).map(({ process }) => process.host),
    clock,
  })
  const system = systemFeed({
    read: () => collectStatus(sources, limits, clock.now()),
    attributionOf,
    dataUpdate: (hosts) => updates.read(hosts),
  })
  const letters = redisLetterDesk(new DeadLetters(shared, pipeline, config.partitions))
  return { streams, live: new LiveHub(source), system, updates, letters }
}
