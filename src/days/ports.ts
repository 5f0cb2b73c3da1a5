/** The builder's last findings. */
export interface DaysNote {
  readonly atMs: number
  /** Number of days that are read from events until they are built; undefined: unknown, since they wait. */
  readonly stale: number | undefined
  /** Since when one of them is stale; undefined: none is. */
  readonly oldestSinceMs: number | undefined
  /** Undefined: days are built. Otherwise they wait until ClickHouse has changed all events: why that fails, empty while it works. */
  readonly blockedBy: string | undefined
}

/** Notes of the builder, for status and metrics. */
export interface DaysRecords {
  /** Undefined: no builder has run yet. */
  read(): Promise<DaysNote | undefined>
  note(note: DaysNote): Promise<void>
}
