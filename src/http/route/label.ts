import { Type } from 'typebox'
import { LABEL_MAX_CHARS } from '../../../schemas/api/batch.ts'
import type { Parameter } from './operation.ts'
import { schemaError } from './schema.ts'

/** Code points, none of them a control, format or unassigned character or a line break, and not only white space. */
const LABEL = /^(?=.*\S)[^\p{C}\p{Zl}\p{Zp}]+$/u

/** @throws HttpError 422 */
export function assertLabel(label: string): void {
  if (LABEL.test(label) && [...label].length <= LABEL_MAX_CHARS) return
  throw schemaError([{ path: 'label', message: `must have 1 to ${LABEL_MAX_CHARS} printable characters` }])
}

/** For the OpenAPI document. */
export const LABEL_PARAMETER: Parameter = {
  name: 'label',
  in: 'query',
  required: false,
  description: `A name for the job, to find it again: 1 to ${LABEL_MAX_CHARS} printable characters. Several jobs may have the same`,
  schema: Type.String({ minLength: 1, maxLength: LABEL_MAX_CHARS }),
}
