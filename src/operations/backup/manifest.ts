import { createHash } from 'node:crypto'
import { open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type BackupFile, BackupManifest } from '../../../schemas/backup.ts'
import { BACKUP_FORMAT } from '../../../schemas/forms.ts'
import { isTooDeep, TOO_DEEP } from '../../pipeline/event/json-depth.ts'
import { compileValidator } from '../../pipeline/event/validator.ts'
import { BackupRefusedError } from './ports.ts'

export const MANIFEST = 'manifest.json'
const BYTES_MAX = 67_108_864

/** Writes the manifest, which makes the folder a complete backup. */
export async function writeManifest(folder: string, manifest: BackupManifest): Promise<void> {
  const file = await open(join(folder, MANIFEST), 'wx', 0o600)
  try {
    await file.writeFile(`${JSON.stringify({ ...manifest, checksum: checksumOf(manifest) }, null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** @throws BackupRefusedError when the folder is not a backup, or its manifest is damaged or has another format */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const { checksum, ...manifest } = (await readJson(folder)) as BackupManifest & { checksum?: unknown }
  if (manifest.format !== undefined && manifest.format !== BACKUP_FORMAT) {
    throw new BackupRefusedError(
      `ipid ${String(manifest.ipid_version)} wrote the backup in format ${manifest.format}, but this ipid reads format ${BACKUP_FORMAT}: restore it with ipid ${String(manifest.ipid_version)}`,
    )
  }
  const [problem] = compileValidator(BackupManifest)(manifest)
  if (problem !== undefined) {
    throw new BackupRefusedError(`the backup is damaged: ${MANIFEST}: ${problem.path}: ${problem.message}`)
  }
  if (checksum !== checksumOf(manifest)) {
    throw new BackupRefusedError(`the backup is damaged: the checksum of ${MANIFEST} is wrong`)
  }
  assertDistinct(
    'file',
    filesOf(manifest).map(({ name }) => name),
  )
  assertDistinct(
    'table',
    manifest.tables.map(({ table }) => table),
  )
  return manifest
}

function assertDistinct(what: string, names: readonly string[]): void {
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice === undefined) return
  throw new BackupRefusedError(`the backup is damaged: ${MANIFEST} names the ${what} ${JSON.stringify(twice)} twice`)
}

async function readJson(folder: string): Promise<object> {
  let text: string
  try {
    const { size } = await stat(join(folder, MANIFEST))
    if (size > BYTES_MAX) throw new Error(`${MANIFEST} is larger than ${BYTES_MAX} bytes`)
    text = await readFile(join(folder, MANIFEST), 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw new BackupRefusedError(`cannot read the backup: ${message}`)
    throw new BackupRefusedError(`${folder} is not a backup, or the backup did not finish: it has no ${MANIFEST}`)
  }
  if (isTooDeep(text)) throw new BackupRefusedError(`the backup is damaged: ${MANIFEST} ${TOO_DEEP}`)
  try {
    return Object(JSON.parse(text)) as object
  } catch {
    throw new BackupRefusedError(`the backup is damaged: ${MANIFEST} is not JSON`)
  }
}

/** All files of the backup, except the manifest. */
export function filesOf({ tables, tenants, pulls, dead_letters, archive }: BackupManifest): BackupFile[] {
  return [...tables.map(({ file }) => file), tenants, ...(pulls ? [pulls] : []), dead_letters, archive.file]
}

function checksumOf(manifest: object): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
}
