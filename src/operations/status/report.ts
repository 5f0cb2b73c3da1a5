import type { DataSetStatus, InsertStatus, LastMinute, LoggedProblem, ProcessStatus } from './system-status.ts'

/** What a process tells of itself every few seconds. Names no tenant: nobody would take it back when one is deleted. */
export interface ProcessReport {
  /** Of this life of the process. */
  readonly id: string
  /** Without roles it is the process that starts the others: its problems are shown, and it is no worker. */
  readonly process: ProcessStatus
  readonly last_minute: Partial<LastMinute>
  readonly inserts: readonly InsertStatus[]
  /** Undefined: the process holds no enrichment data. */
  readonly data?: readonly DataSetStatus[]
  readonly errors: readonly LoggedProblem[]
}

/** Where processes tell of themselves. */
export interface ReportStore {
  tell(report: ProcessReport): Promise<void>
  /** For one that ends. */
  withdraw(id: string): Promise<void>
  /** What was told in the last 20 s. */
  read(): Promise<readonly ProcessReport[]>
}
