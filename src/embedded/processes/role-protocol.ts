import type { MetricSet } from '../../telemetry/metrics-server.ts'

/** Addresses of the stores, known once they run. */
export interface StoreUrls {
  readonly redisUrl: string
  /** Empty when no role needs ClickHouse. */
  readonly clickhouseUrl: string
}

/** What the supervisor tells a role process over IPC. The process ends at once when the channel breaks. */
export type ToRole =
  | {
      readonly type: 'start'
      readonly roles: readonly string[]
      readonly stores: StoreUrls
      /** The configuration, as the role's module wants it. */
      readonly config: object
    }
  | { readonly type: 'metrics'; readonly id: number }
  /** Finish what is in flight, then end with exit code 0. */
  | { readonly type: 'stop' }

/** What a role process answers. */
export type FromRole =
  | { readonly type: 'ready'; readonly url?: string }
  /** It cannot start, for this reason in one line; it ends. */
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: MetricSet }
