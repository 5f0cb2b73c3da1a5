import type { TSchema } from 'typebox'
import type { ErrorStatus } from '../engine/http-error.ts'

/** The description of one operation in the OpenAPI document. */
export interface Operation {
  readonly id: string
  readonly summary: string
  readonly description?: string
  readonly parameters?: readonly Parameter[]
  /** Its query has terms such as `visits>=3` too, so it finds unknown ones itself. */
  readonly takesTerms?: boolean
  /** `also`: another content type that it takes. */
  readonly body?: Content & { readonly optional?: boolean; readonly also?: Content }
  /** By status. */
  readonly responses: Readonly<Record<number, OperationResponse>>
  /** Its own errors; those of every route of its kind are added. */
  readonly errors: readonly ErrorStatus[]
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description: string
  readonly schema: TSchema
  /** An earlier name, which is still answered. */
  readonly deprecated?: boolean
}

export interface Content {
  /** Default `application/json`. */
  readonly type?: string
  /** Of the body; of a line, if the type is NDJSON. A `title` makes it a component of that name. */
  readonly schema: TSchema
  /** Of the body; of a line, if the type is NDJSON. */
  readonly example?: unknown
}

export interface OperationResponse extends Content {
  readonly description: string
  /** Another content type that the request may ask for. */
  readonly also?: Content
  /** Name → description, in addition to those of every response. */
  readonly headers?: Readonly<Record<string, string>>
}
