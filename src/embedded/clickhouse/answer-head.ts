import type { Ask } from './addon.ts'
import { type EffectiveSettings, isOn } from './effective-settings.ts'

const CONTENT_TYPES = 'SELECT lower(name), content_type FROM system.formats WHERE is_output'
const UNKNOWN_TYPE = 'text/plain; charset=UTF-8'
/** The one setting on which a content type depends. */
const ARRAY_OF_ROWS = 'output_format_json_array_of_rows'

/** Response headers whose values come from the engine: content types of formats, and the server's time zone. */
export class AnswerHead {
  readonly #timezone: Promise<string>
  readonly #types: Promise<ReadonlyMap<string, string>>
  readonly #arrayTypes: Promise<ReadonlyMap<string, string>>

  constructor(ask: Ask) {
    this.#timezone = ask('SELECT serverTimezone()').then((text) => text.trim())
    this.#types = ask(CONTENT_TYPES).then(pairs)
    this.#arrayTypes = ask(`${CONTENT_TYPES} SETTINGS ${ARRAY_OF_ROWS} = 1`).then(pairs)
    // Avoids an unhandled rejection if the engine closes before the first response.
    for (const answer of [this.#timezone, this.#types, this.#arrayTypes]) answer.catch(() => {})
  }

  async timezone(settings: EffectiveSettings): Promise<string> {
    return settings.get('session_timezone') || (await this.#timezone)
  }

  /** @param format in any case */
  async contentType(format: string, settings: EffectiveSettings): Promise<string> {
    const types = await (isOn(settings.get(ARRAY_OF_ROWS)) ? this.#arrayTypes : this.#types)
    return types.get(format.toLowerCase()) ?? UNKNOWN_TYPE
  }
}

function pairs(text: string): Map<string, string> {
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split('\t') as [string, string]),
  )
}
