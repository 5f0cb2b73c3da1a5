import { sourcesDirOf } from '../../config/config.ts'
import { attributionOf } from '../../enrichment/files/attribution.ts'
import { DeadLetters } from '../../operations/dead-letters/dead-letters.ts'
import { collectStatus } from '../../operations/status/collect.ts'
import { isFresh } from '../../operations/status/redis/reports.ts'
import { stallLimits, statusSources } from '../../operations/status/role/sources.ts'
import type { ProcessContext } from '../../process/context.ts'
import { redisLetterDesk } from '../redis/letter-desk.ts'
import { RedisLiveSource } from '../redis/live.ts'
import { FolderUpdates } from '../server/data-updates.ts'
import type { EventStreams } from '../server/event-streams.ts'
import { LiveHub } from '../server/live-hub.ts'
import { PageViewWatch } from '../server/page-view-watch.ts'
import type { DeadLetterDependencies } from '../server/routes/dead-letters.ts'
import type { LiveDependencies } from '../server/routes/live.ts'
import type { SystemDependencies } from '../server/routes/system.ts'
import { systemFeed } from '../server/system-feed.ts'

/** Live views: arriving events, system status, dead letters. */
export function liveDependencies(
  context: ProcessContext,
  streams: EventStreams,
): LiveDependencies & SystemDependencies & DeadLetterDependencies & { readonly pageViews: PageViewWatch } {
  const { config, pipeline, shared, telemetry } = context
  const source = new RedisLiveSource(context.connect({ name: 'live', kind: 'loop' }), shared)
  const { clock } = telemetry
  const sources = statusSources({
    redis: shared,
    clickhouseUrl: config.clickhouseUrl,
    pipeline,
    plans: config.plans,
    clock,
    dataDir: config.dataDir,
  })
  const limits = stallLimits(config, pipeline)
  const updates = new FolderUpdates({
    dir: sourcesDirOf(config),
    engine: context.enrichment.engine,
    hosts: async () => (await sources.reports()).filter(isFresh).map(({ process }) => process.host),
    clock,
  })
  const system = systemFeed({
    read: () => collectStatus(sources, limits, clock.now()),
    attributionOf,
    dataUpdate: (hosts) => updates.read(hosts),
  })
  const letters = redisLetterDesk(new DeadLetters(shared, pipeline, config.partitions))
  return { streams, live: new LiveHub(source), system, updates, letters, pageViews: new PageViewWatch(source, clock) }
}
