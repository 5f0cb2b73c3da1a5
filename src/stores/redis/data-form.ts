import { REDIS_FORM } from '../../../schemas/forms.ts'
import { NewerDataError } from '../../run/errors.ts'
import type { RedisClient } from './connect.ts'
import { keys } from './keys.ts'
import { loadScript } from './scripts.ts'

const raiseFormScript = loadScript(import.meta.url, './raiseForm-1.lua')

/** The form of the data in a Redis. */
export interface StoredForm {
  readonly form: number
  /** The ipid version that raised it; `''`: unknown, as for version 0.1.0. */
  readonly version: string
}

/** Undefined when no ipid has run on this Redis; form 1 when only version 0.1.0 has. */
export async function storedForm(client: RedisClient): Promise<StoredForm | undefined> {
  const [form, version] = await client.hmget(keys.form(), 'form', 'version')
  if (form) return { form: Number(form), version: version ?? '' }
  return (await client.exists(keys.partitions())) === 0 ? undefined : { form: 1, version: '' }
}

/**
 * Stores the form of this version, unless it is stored already.
 * @throws NewerDataError when a later form is stored
 */
export async function agreeOnForm(client: RedisClient, version: string): Promise<void> {
  const [form, by] = (await raiseFormScript.run(client, [keys.form()], [REDIS_FORM, version])) as [number, Buffer]
  assertForm({ form, version: String(by) }, version)
}

/** @throws NewerDataError when a later form is stored */
export async function assertReadable(client: RedisClient, version: string): Promise<void> {
  const stored = await storedForm(client)
  if (stored !== undefined) assertForm(stored, version)
}

function assertForm({ form, version: by }: StoredForm, version: string): void {
  if (form <= REDIS_FORM) return
  throw new NewerDataError(
    `this Redis holds data of ipid ${by} (form ${form}), and ipid ${version} reads up to form ${REDIS_FORM}: use ipid ${by} or later. To go back to ${version}, restore a backup that it can read into a new DATA_DIR (or empty stores)`,
  )
}
