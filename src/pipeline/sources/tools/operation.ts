import { Type } from 'typebox'
import type { ErrorStatus } from '../../../http/engine/http-error.ts'
import type { Operation, Parameter } from '../../../http/route/operation.ts'

/** Texts of the API document about an operation that takes a source key. */
interface SourceOperation {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** The sender, for people. */
  readonly title: string
  /** Its purpose. Default: it takes events. */
  readonly about?: string | undefined
  /** The request. */
  readonly request: string
  /** The answer. */
  readonly answer: string
  /** Status of success. Default: 200. */
  readonly status?: number | undefined
  readonly errors?: readonly ErrorStatus[]
}

/** Describes an operation of a source. Its sender defines the forms, so their description is short. */
export function sourceOperation(facts: SourceOperation): Operation {
  const { method, path, title, about = 'sends events', request, answer, status = 200, errors = [422, 503] } = facts
  const parameters = [...path.matchAll(/:(\w+)/g)].map(([, name]) => keyParameter(name!))
  return {
    id: `${method.toLowerCase()}${path.replace(/\W/g, '_')}`,
    summary: `${title}: ${about}`,
    description: method === 'GET' ? `Query: ${request}` : `Body: ${request}`,
    ...(parameters.length > 0 && { parameters }),
    ...(method === 'POST' && { body: { schema: Type.Unknown({ description: request }), optional: true } }),
    responses: { [status]: { description: answer, schema: Type.Unknown() } },
    errors,
  }
}

function keyParameter(name: string): Parameter {
  return {
    name,
    in: 'path',
    required: true,
    description: 'A source key, which ./ipid source create makes',
    schema: Type.String(),
  }
}
