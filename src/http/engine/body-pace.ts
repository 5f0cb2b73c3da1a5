import { HttpError } from './http-error.ts'
import type { HttpLimits } from './limits.ts'

/** Measures how fast the body of a request arrives. */
export class BodyPace {
  #receivedBytes = 0
  #sinceMs: number
  #sinceBytes = 0

  /** @param nowMs `performance.now()` */
  constructor(nowMs: number) {
    this.#sinceMs = nowMs
  }

  get receivedBytes(): number {
    return this.#receivedBytes
  }

  add(bytes: number): void {
    this.#receivedBytes += bytes
  }

  /**
   * Whether too few bytes arrived for too long.
   * @param waitsForUs whether we paused the sender, which then need not send
   */
  isStalled(nowMs: number, waitsForUs: boolean, { bodyStallBytes, bodyStallMs }: HttpLimits): boolean {
    if (!waitsForUs && this.#receivedBytes - this.#sinceBytes < bodyStallBytes) {
      return nowMs - this.#sinceMs > bodyStallMs
    }
    this.#sinceMs = nowMs
    this.#sinceBytes = this.#receivedBytes
    return false
  }
}

/** The response to a stalled body. */
export function tooSlow(limits: HttpLimits): HttpError {
  return new HttpError(408, `the body arrived too slowly: ${tooLittle(limits)}`, { close: true })
}

/** The limit of a stalled body in words. */
export function tooLittle({ bodyStallBytes, bodyStallMs }: HttpLimits): string {
  return `less than ${bodyStallBytes / 1_024} KiB in ${bodyStallMs / 1_000} s`
}
