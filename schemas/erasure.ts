import { type Static, Type } from 'typebox'

/** What `ipid erase` removed, and where. It names nothing of what was erased. */
export const ErasureReceipt = Type.Object({
  receipt: Type.String({ description: 'Random; says nothing of what was erased' }),
  tenant_id: Type.String(),
  selector: Type.Enum(['ip', 'account', 'event']),
  received_before: Type.String({ description: 'ISO 8601, UTC: events received from then on are new, and stay' }),
  finished_at: Type.String({ description: 'ISO 8601, UTC' }),
  clickhouse: Type.Object({
    rows: Type.Integer({ description: 'Rows of events' }),
    detached_parts: Type.Integer({ description: 'Parts that the server has set aside, and that were not looked into' }),
  }),
  archive: Type.Object({
    place: Type.String(),
    lines: Type.Integer(),
    rewritten: Type.Integer({ description: 'Parts that have lines left' }),
    deleted: Type.Integer({ description: 'Parts of which nothing was left' }),
  }),
  redis: Type.Object({
    dead_letters: Type.Integer(),
    dedup: Type.Integer({ description: 'Events that the dedup window knew' }),
    batch_jobs: Type.Integer({ description: 'Jobs whose errors quoted their lines, and do so no more' }),
    bulk_jobs: Type.Integer({ description: 'Bulk lookup jobs that had the address' }),
    files: Type.Enum(['rewritten', 'none', 'refused'], { description: 'none: this Redis keeps no files' }),
  }),
})
export type ErasureReceipt = Static<typeof ErasureReceipt>

/** What `ipid tenant delete` removed, and where. */
export const DeletionReceipt = Type.Object({
  receipt: Type.String({ description: 'Random' }),
  tenant_id: Type.String(),
  begun_at: Type.String({ description: 'ISO 8601, UTC: its keys open nothing from then on' }),
  finished_at: Type.String({ description: 'ISO 8601, UTC' }),
  clickhouse: Type.Object({
    rows: Type.Integer({ description: 'Rows of events' }),
    outcomes: Type.Integer({ description: 'Rows of outcomes' }),
    detached_parts: Type.Integer({ description: 'Parts that the server has set aside, and that were not looked into' }),
  }),
  archive: Type.Object({ place: Type.String(), objects: Type.Integer() }),
  redis: Type.Object({
    keys: Type.Integer({ description: 'API keys, revoked ones included' }),
    dead_letters: Type.Integer(),
    dedup: Type.Integer({ description: 'Events that the dedup window knew' }),
    batch_jobs: Type.Integer(),
    bulk_jobs: Type.Integer(),
    files: Type.Enum(['rewritten', 'none', 'refused'], { description: 'none: this Redis keeps no files' }),
  }),
})
export type DeletionReceipt = Static<typeof DeletionReceipt>
