import { ArchivedObject, type BackupManifest, LetterCopy, PullCopy, TenantCopy } from '../../../schemas/backup.ts'
import { ENVELOPE_FORM } from '../../../schemas/forms.ts'
import { formOf } from '../../pipeline/event/block.ts'
import { compileValidator, type Validator } from '../../pipeline/event/validator.ts'
import { readRecords } from './files.ts'

/*
 * Reads the records of a backup. The folder may come from a stranger, so each line is checked against its schema and against
 * the other rules of a backup before a store gets it.
 */

const validTenant = compileValidator(TenantCopy)
const validPull = compileValidator(PullCopy)
const validLetter = compileValidator(LetterCopy)
const validObject = compileValidator(ArchivedObject)

/** @throws BackupRefusedError that names file and line */
export function readTenants(dir: string, { tenants }: BackupManifest): AsyncGenerator<TenantCopy[]> {
  const ids = new Set<string>()
  const hashes = new Set<string>()
  return readRecords(dir, tenants, (value) => {
    assertValid(validTenant, value)
    const tenant = value as TenantCopy
    assertFirst(ids, tenant.id, 'the tenant')
    for (const { sha256, record } of tenant.keys) {
      if (record.tenant_id !== tenant.id)
        throw new Error(`the key ${record.prefix} belongs to tenant ${record.tenant_id}`)
      assertFirst(hashes, sha256, 'the hash of a key')
    }
    return tenant
  })
}

/** @throws BackupRefusedError that names file and line */
export async function* readPulls(dir: string, { pulls }: BackupManifest): AsyncGenerator<PullCopy[]> {
  // Older versions have no pulls.
  if (pulls === undefined) return
  const ids = new Set<string>()
  yield* readRecords(dir, pulls, (value) => {
    assertValid(validPull, value)
    const pull = value as PullCopy
    assertFirst(ids, pull.id, 'the source')
    return pull
  })
}

/** @throws BackupRefusedError that names file and line */
export function readLetters(dir: string, { dead_letters: file, partitions, ipid_version: version }: BackupManifest) {
  /** The last id of each partition: milliseconds and number. */
  const last = new Map<number, readonly [bigint, bigint]>()
  return readRecords(dir, file, (value): LetterCopy => {
    assertValid(validLetter, value)
    const letter = value as LetterCopy
    const { partition, fields } = letter
    if (partition >= partitions) throw new Error(`partition ${partition} does not exist: the backup has ${partitions}`)
    const [ms, number] = letter.id.split('-').map(BigInt) as [bigint, bigint]
    const [lastMs, lastNumber] = last.get(partition) ?? [0n, 0n]
    if (ms < lastMs || (ms === lastMs && number <= lastNumber))
      throw new Error('its id must be greater than the one before')
    last.set(partition, [ms, number])
    if (fields.length % 2 !== 0) throw new Error('a field has no value')
    if (!fields.every(isBase64)) throw new Error('a field is not base64')
    const form = formOf(fields.map((field) => Buffer.from(field, 'base64')))
    // A retry of such a letter would end the workers.
    if (form > ENVELOPE_FORM) {
      throw new Error(
        `its event has form ${form}, but this ipid reads up to form ${ENVELOPE_FORM}: restore it with ipid ${version}`,
      )
    }
    return letter
  })
}

/** @throws BackupRefusedError that names file and line */
export function readObjects(dir: string, { archive }: BackupManifest): AsyncGenerator<ArchivedObject[]> {
  return readRecords(dir, archive.file, (value) => {
    assertValid(validObject, value)
    return value as ArchivedObject
  })
}

// biome-ignore lint/suspicious/noExplicitAny: of any schema
function assertValid(validator: Validator<any>, value: unknown): void {
  const [problem] = validator(value)
  if (problem === undefined) return
  throw new Error(problem.path === '' ? `it ${problem.message}` : `${problem.path}: ${problem.message}`)
}

function assertFirst(seen: Set<string>, name: string, what: string): void {
  if (seen.has(name)) throw new Error(`${what} ${name} occurs twice`)
  seen.add(name)
}

function isBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text
}
