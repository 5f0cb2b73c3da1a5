import type { BackupFigures, BackupManifest } from '../../../schemas/backup.ts'
import { BackupRefusedError } from './ports.ts'

/** A figure of a backup, and the same figure of the restored instance. */
export interface Comparison {
  readonly what: string
  readonly backup: number | string
  readonly restored: number | string
}

/**
 * Compares a restored instance with the figures of its backup.
 * @param lettersStored dead letters that the restore left out because their events are stored
 * @throws BackupRefusedError when the backup has no figures, as those of earlier versions
 */
export function compareFigures(
  { figures, ipid_version: version }: Pick<BackupManifest, 'figures' | 'ipid_version'>,
  restored: BackupFigures,
  lettersStored: number,
): Comparison[] {
  if (figures === undefined) {
    throw new BackupRefusedError(
      `the backup was written by ipid ${version}, which noted no figures, so there is nothing to compare; its files are whole, and it can be restored`,
    )
  }
  const found: BackupFigures = { ...restored, dead_letters: restored.dead_letters + lettersStored }
  const questions: readonly (readonly [what: string, figureOf: (of: BackupFigures) => number | string])[] = [
    ['events', ({ events }) => events.rows],
    ['checksum of all events', ({ events }) => events.checksum],
    ['distinct event ids', ({ events }) => events.ids],
    ['distinct companies', ({ events }) => events.companies],
    ['tenants with events', ({ events }) => events.tenants],
    ['events of batch jobs', ({ events }) => events.of_jobs],
    ['first event received', ({ events }) => events.first_received],
    ['last event received', ({ events }) => events.last_received],
    ['sum of the outcomes', ({ outcomes }) => outcomes],
    ['tenants', ({ tenants }) => tenants],
    ['keys', ({ keys }) => keys],
    ['sources that are pulled', ({ pulls }) => pulls],
    ['dead letters', ({ dead_letters: letters }) => letters],
  ]
  return questions.map(([what, figureOf]) => ({ what, backup: figureOf(figures), restored: figureOf(found) }))
}

/** @throws BackupRefusedError that names every figure that differs */
export function assertEqual(compared: readonly Comparison[]): void {
  const different = compared.filter(({ backup, restored }) => backup !== restored)
  if (different.length === 0) return
  const texts = different.map(({ what, backup, restored }) => `${what}: ${restored}, not ${backup}`)
  throw new BackupRefusedError(`the restored data differ from the backup: ${texts.join('; ')}`)
}
