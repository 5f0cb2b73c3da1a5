import type { ClickHousePlace } from '../../stores/clickhouse/hosts.ts'
import { ClickHouseReenrichment } from './clickhouse.ts'
import { finishReenrich } from './reenrich.ts'
import type { RewriteHold } from './rewrite-hold.ts'

/**
 * Finishes a re-enrichment of any tenant that was killed, and removes an incomplete copy. Call it while you hold the rewrite lease,
 * before other work replaces or removes stored events.
 */
export async function endReenrichment(
  place: ClickHousePlace | string,
  { assertHeld, onReplaced }: RewriteHold,
  say: (line: string) => void,
): Promise<void> {
  const events = new ClickHouseReenrichment(place)
  try {
    await finishReenrich({ events, replacement: events, assertHeld, onReplaced, say })
    await events.discard()
  } finally {
    await events.close()
  }
}
