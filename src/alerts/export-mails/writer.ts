import type { Export, ExportedFile, ExportState } from '../../exports/redis/export-store.ts'
import type { Clock } from '../../run/clock.ts'
import type { ExportMail, RedisAlerts } from '../redis/alert-store.ts'
import type { RedisOccurrences } from '../redis/occurrence-store.ts'
import { fileMessage } from './message.ts'

export interface ExportMailWriterOptions {
  readonly occurrences: Pick<RedisOccurrences, 'progress' | 'sendDigest'>
  readonly alerts: Pick<RedisAlerts, 'remove'>
  readonly exports: {
    get(tenantId: string, id: string): Promise<Export | undefined>
    state(id: string): Promise<ExportState>
  }
  /** The number of waiting messages of a subscription. */
  readonly waiting: (id: string) => Promise<number>
  readonly dashboardUrl: string
  readonly clock: Clock
}

/**
 * Writes the mails with files of exports: one for each file and subscriber, by the same script as those of digests. It notes the time of
 * the last file, so a repeat after a crash writes none twice.
 */
export class ExportMailWriter {
  readonly #options: ExportMailWriterOptions

  constructor(options: ExportMailWriterOptions) {
    this.#options = options
  }

  /** @param mails subscriptions of one tenant. Those of exports that were removed end, paused ones too */
  async write(mails: readonly ExportMail[]): Promise<void> {
    const { exports, alerts, clock } = this.#options
    const states = new Map<string, ExportState | undefined>()
    for (const mail of mails) {
      const { id } = mail.export
      if (!states.has(id)) {
        const isThere = (await exports.get(mail.tenantId, id)) !== undefined
        states.set(id, isThere ? await exports.state(id) : undefined)
      }
      const state = states.get(id)
      if (state === undefined) await alerts.remove(mail.tenantId, mail.id, clock.now())
      else if (mail.paused === undefined)
        await this.#write(mail, state, mail.once ? mails.find(isEachOf(mail)) : undefined)
    }
  }

  /** @param each the subscription of the same receiver for each file, beside one for a single file */
  async #write(mail: ExportMail, state: ExportState, each: ExportMail | undefined): Promise<void> {
    const { occurrences, alerts, waiting, dashboardUrl, clock } = this.#options
    const { digestMs: sentMs } = await occurrences.progress(mail.id)
    if (mail.once && sentMs > 0) {
      if ((await waiting(mail.id)) === 0) await alerts.remove(mail.tenantId, mail.id, clock.now())
      return
    }
    const sinceMs = Math.max(sentMs, Date.parse(mail.active_since))
    const open = filesOf(state).filter(({ atMs }) => atMs > sinceMs)
    for (const file of mail.once ? open.slice(0, 1) : open) {
      // The other one sends the same file.
      const isSent = each !== undefined && Date.parse(each.active_since) < file.atMs
      const message = fileMessage(mail, file, { dashboardUrl })
      await occurrences.sendDigest(mail, isSent ? 0 : 1, message, file.atMs, clock.now())
    }
  }
}

function isEachOf({ target, export: of }: ExportMail): (other: ExportMail) => boolean {
  return (other) => !other.once && other.paused === undefined && other.target === target && other.export.id === of.id
}

/** The last files, oldest first. */
function filesOf({ last, runs = last === undefined ? [] : [last] }: ExportState): ExportedFile[] {
  return runs.filter((run): run is ExportedFile => 'key' in run).reverse()
}
