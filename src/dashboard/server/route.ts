import type { Static, TObject } from 'typebox'
import type { Exchange } from '../../http/engine/exchange.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import type { Tenant } from '../../tenants/tenancy.ts'
import type { Session } from './sessions.ts'

/** One call of the dashboard's own API. */
export interface DashboardRoute {
  readonly method: 'GET' | 'POST'
  /** Under `/api/`. With `:tenant` in it, the tenant exists and the session may see it. */
  readonly path: `/api/${string}`
  /** `session`: whoever is signed in; a POST carries the session's CSRF token. */
  readonly access: 'session' | 'operator'
  readonly query: TObject | undefined
  readonly body: TObject | undefined
  /** The body is taken with `Exchange.stream`, up to so many bytes. */
  readonly streamedMaxBytes: number | undefined
  /** What it changed is on disk before it is answered. */
  readonly changes: boolean
  /** Throws as the routes of the API do. */
  handle(call: Call): HttpResponse | Promise<HttpResponse>
}

/** A request that was let through. */
export interface Call<Q = unknown, B = unknown> {
  readonly exchange: Exchange
  readonly session: Session
  /** Decoded, by name. */
  readonly parameters: Readonly<Record<string, string>>
  /** Of a path with `:tenant`; not to be asked for on others. */
  readonly tenant: Tenant
  readonly query: Q
  readonly body: B
}

interface RouteFacts<Q extends TObject, B extends TObject> {
  readonly method: 'GET' | 'POST'
  readonly path: `/api/${string}`
  /** Default `session`. */
  readonly access?: 'session' | 'operator'
  /** Properties are strings, numbers, integers, booleans or arrays of strings. */
  readonly query?: Q
  readonly body?: B
  readonly streamedMaxBytes?: number
  /** Default: a POST does. */
  readonly changes?: boolean
  readonly handle: (call: Call<Static<Q>, Static<B>>) => HttpResponse | Promise<HttpResponse>
}

/** Declares a call; what it is given is held to its schemas before. */
export function route<Q extends TObject = TObject, B extends TObject = TObject>(
  facts: RouteFacts<Q, B>,
): DashboardRoute {
  const { method, path, access = 'session', query, body, streamedMaxBytes, changes = method === 'POST' } = facts
  const handle = facts.handle as DashboardRoute['handle']
  return { method, path, access, query, body, streamedMaxBytes, changes, handle }
}

/** An answer of 200 in JSON. */
export function json(value: unknown): HttpResponse {
  return { status: 200, body: JSON.stringify(value) }
}
