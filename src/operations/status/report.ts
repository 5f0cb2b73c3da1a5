import type { DataSetStatus, InsertStatus, LastMinute, LoggedProblem, ProcessStatus } from './system-status.ts'

/** Report of a process, every few seconds. Names no tenant, because the deletion of a tenant does not search reports. */
export interface ProcessReport {
  /** Unique for each start of a process. */
  readonly id: string
  /** Without roles it is the supervisor: a status shows only its problems. */
  readonly process: ProcessStatus
  readonly last_minute: Partial<LastMinute>
  readonly inserts: readonly InsertStatus[]
  /** Undefined: the process holds no enrichment data. */
  readonly data?: readonly DataSetStatus[]
  readonly errors: readonly LoggedProblem[]
}

export interface ReportStore {
  write(report: ProcessReport): Promise<void>
  /** Call when the process ends. */
  withdraw(id: string): Promise<void>
  /** Reports of the last 20 s. */
  read(): Promise<readonly ProcessReport[]>
}
