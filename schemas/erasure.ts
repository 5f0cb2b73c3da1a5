import { type Static, Type } from 'typebox'

/** Result of `ipid erase`. It does not contain the erased address, account or event id. */
export const ErasureReceipt = Type.Object({
  receipt: Type.String({ description: 'Random id' }),
  tenant_id: Type.String(),
  selector: Type.Enum(['ip', 'account', 'event', 'source']),
  received_before: Type.String({ description: 'ISO 8601, UTC: events received at or after this time stay' }),
  finished_at: Type.String({ description: 'ISO 8601, UTC' }),
  clickhouse: Type.Object({
    rows: Type.Integer({ description: 'Rows of events' }),
    detached_parts: Type.Integer({ description: 'Detached parts, which were not searched' }),
  }),
  archive: Type.Object({
    place: Type.String(),
    lines: Type.Integer(),
    rewritten: Type.Integer({ description: 'Parts with remaining lines' }),
    deleted: Type.Integer({ description: 'Parts without remaining lines' }),
  }),
  redis: Type.Object({
    dead_letters: Type.Integer(),
    dedup: Type.Integer({ description: 'Events in the dedup window' }),
    batch_jobs: Type.Integer({ description: 'Jobs whose errors quoted lines; the quotes were removed' }),
    bulk_jobs: Type.Integer({ description: 'Bulk lookup jobs with the address' }),
    files: Type.Enum(['rewritten', 'none', 'refused'], { description: 'none: this Redis writes no files' }),
  }),
})
export type ErasureReceipt = Static<typeof ErasureReceipt>

/** Result of `ipid erase --email`. It does not contain the address. */
export const AddressErasureReceipt = Type.Object({
  receipt: Type.String({ description: 'Random id' }),
  tenant_id: Type.String(),
  selector: Type.Literal('email'),
  finished_at: Type.String({ description: 'ISO 8601, UTC' }),
  redis: Type.Object({
    alerts: Type.Integer({ description: 'Alerts and subscriptions that went to the address' }),
    messages: Type.Integer({ description: 'Messages that named it' }),
    files: Type.Enum(['rewritten', 'none', 'refused'], { description: 'none: this Redis writes no files' }),
  }),
})
export type AddressErasureReceipt = Static<typeof AddressErasureReceipt>

/** Result of `ipid tenant delete`. */
export const DeletionReceipt = Type.Object({
  receipt: Type.String({ description: 'Random id' }),
  tenant_id: Type.String(),
  begun_at: Type.String({ description: 'ISO 8601, UTC: its keys stopped working at this time' }),
  finished_at: Type.String({ description: 'ISO 8601, UTC' }),
  clickhouse: Type.Object({
    rows: Type.Integer({ description: 'Rows of events' }),
    outcomes: Type.Integer({ description: 'Rows of outcomes' }),
    corrections: Type.Integer({ description: 'Rows of corrections of companies' }),
    detached_parts: Type.Integer({ description: 'Detached parts, which were not searched' }),
  }),
  archive: Type.Object({ place: Type.String(), objects: Type.Integer() }),
  redis: Type.Object({
    keys: Type.Integer({ description: 'API keys and source keys, including revoked ones' }),
    dead_letters: Type.Integer(),
    dedup: Type.Integer({ description: 'Events in the dedup window' }),
    batch_jobs: Type.Integer(),
    bulk_jobs: Type.Integer(),
    files: Type.Enum(['rewritten', 'none', 'refused'], { description: 'none: this Redis writes no files' }),
  }),
})
export type DeletionReceipt = Static<typeof DeletionReceipt>
