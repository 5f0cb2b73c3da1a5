import type { MetricSet } from '../../telemetry/metrics-server.ts'

/** Addresses of the running stores. */
export interface StoreUrls {
  readonly redisUrl: string
  /** Empty when no role needs ClickHouse. */
  readonly clickhouseUrl: string
}

/** Messages of the supervisor to a role process over IPC. The process exits at once when the channel breaks. */
export type ToRole =
  | {
      readonly type: 'start'
      readonly roles: readonly string[]
      readonly stores: StoreUrls
      /** The configuration for the role's module. */
      readonly config: object
    }
  | { readonly type: 'metrics'; readonly id: number }
  /** Finish work in progress, then exit with code 0. */
  | { readonly type: 'stop' }

/** Messages of a role process to the supervisor. */
export type FromRole =
  | { readonly type: 'ready'; readonly url?: string }
  /** It cannot start and exits. The reason is one line. */
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: MetricSet }
