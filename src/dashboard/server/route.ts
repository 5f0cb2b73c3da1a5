import type { Static, TObject } from 'typebox'
import type { DashboardRole } from '../../../schemas/dashboard/roles.ts'
import type { Exchange } from '../../http/engine/exchange.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import type { Tenant } from '../../tenants/tenancy.ts'
import type { Session } from './sessions.ts'

/** A call of the dashboard's API. */
export interface DashboardRoute {
  readonly method: 'GET' | 'POST'
  /** With `:tenant` in the path, `handle` is called only for an existing tenant that the session may see. */
  readonly path: `/api/${string}`
  /** The least role that may call it. A POST needs the session's CSRF token. */
  readonly access: DashboardRole
  readonly query: TObject | undefined
  readonly body: TObject | undefined
  /** Maximum size of a body that `handle` reads with `Exchange.stream`. */
  readonly streamedMaxBytes: number | undefined
  /** Policy of its responses. Undefined: that of the pages. */
  readonly contentSecurityPolicy: string | undefined
  /** Whether it changes Redis: then the answer waits until the change is on disk. */
  readonly changes: boolean
  /** Whether its queries end when the caller leaves. Not for work that continues after the answer, or is shared. */
  readonly endsWithCaller: boolean
  /** Throws like routes of the public API. */
  handle(call: Call): HttpResponse | Promise<HttpResponse>
}

/** An authorized request. */
export interface Call<Q = unknown, B = unknown> {
  readonly exchange: Exchange
  readonly session: Session
  /** Decoded, by name. */
  readonly parameters: Readonly<Record<string, string>>
  /** Only for paths with `:tenant`. */
  readonly tenant: Tenant
  readonly query: Q
  readonly body: B
}

interface RouteFacts<Q extends TObject, B extends TObject> {
  readonly method: 'GET' | 'POST'
  readonly path: `/api/${string}`
  /** Default: `viewer` for a call that changes nothing, `member` for one that does. */
  readonly access?: DashboardRole
  /** Properties are strings, numbers, integers, booleans or arrays of strings. */
  readonly query?: Q
  readonly body?: B
  readonly streamedMaxBytes?: number
  /** Default: that of the pages. */
  readonly contentSecurityPolicy?: string
  /** Default: a POST does. */
  readonly changes?: boolean
  /** Default: false. */
  readonly endsWithCaller?: boolean
  readonly handle: (call: Call<Static<Q>, Static<B>>) => HttpResponse | Promise<HttpResponse>
}

/** Declares a call. Query and body are checked against their schemas before `handle`. */
export function route<Q extends TObject = TObject, B extends TObject = TObject>(
  facts: RouteFacts<Q, B>,
): DashboardRoute {
  const { method, path, query, body, streamedMaxBytes, contentSecurityPolicy } = facts
  const { changes = method === 'POST', endsWithCaller = false } = facts
  const { access = changes ? 'member' : 'viewer' } = facts
  const handle = facts.handle as DashboardRoute['handle']
  return { method, path, access, query, body, streamedMaxBytes, contentSecurityPolicy, changes, endsWithCaller, handle }
}

/** A JSON response with status 200. */
export function json(value: unknown): HttpResponse {
  return { status: 200, body: JSON.stringify(value) }
}
