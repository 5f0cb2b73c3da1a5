import { type Inserter, UnclearRefusalError } from '../declaration/destination.ts'
import type { SinkIntent } from './sink-ports.ts'

/** Suffix of the token under which absent rows are inserted; a number follows. */
export const ABSENT = '.absent'
/** Unclear refusals of an intent before it is divided. */
const TRIES_MAX = 5
/** Unclear refusals before rows are given up although the destination took none: about 2 minutes. */
const TRIES_WITHOUT_PROOF_MAX = 40
/** Rows refused alone, in one try, while the destination has taken none. More of them would prove nothing. */
const ALONE_WITHOUT_PROOF_MAX = 50

/**
 * Decides what to do when a refusal does not say whether the rows or the destination are at fault. At first it blames the
 * destination, and the sink tries the same intent again. Later, if the destination is open, it blames the rows, and the sink sends
 * them in smaller parts. A row is given up once it was refused alone twice, some time apart and for the same reason, and the
 * destination has taken other rows of the intent, or a long time has passed.
 *
 * Two rules keep rows from being stored twice. The intent notes each division before the parts are sent, because a divided part must
 * never be sent as a whole again. And after the first division no stored row is sent, because an earlier try of the whole may have
 * succeeded and lost its answer.
 */
export class UnclearRefusals {
  readonly #inserter: Inserter
  readonly #write: (intent: SinkIntent) => Promise<void>
  readonly #confirmAfterMs: number
  /** Rows that were refused alone: the reason, and the time of the first refusal (`performance.now()`). */
  readonly #refusedAlone = new Map<string, { readonly kind: string; readonly atMs: number }>()
  #intent: SinkIntent = { token: '', ranges: [] }
  #tries = 0
  #isProven = false
  #alone = 0
  #last: UnclearRefusalError | undefined
  #unconfirmed: UnclearRefusalError | undefined

  /**
   * @param write makes an intent durable
   * @param confirmAfterMs a row may be given up this long after it was first refused alone
   */
  constructor(inserter: Inserter, write: (intent: SinkIntent) => Promise<void>, confirmAfterMs: number) {
    this.#inserter = inserter
    this.#write = write
    this.#confirmAfterMs = confirmAfterMs
  }

  /** The intent as it was last written. */
  get intent(): SinkIntent {
    return this.#intent
  }

  /** Call it before each try of an intent. */
  begin(intent: SinkIntent): void {
    if (intent.token !== this.#intent.token) {
      this.#tries = 0
      this.#isProven = false
      this.#refusedAlone.clear()
    }
    this.#intent = intent
    this.#alone = 0
    this.#last = undefined
    this.#unconfirmed = undefined
  }

  /** Call it when a try has failed. */
  failed(error: unknown): void {
    if (error instanceof UnclearRefusalError) this.#tries++
  }

  /** Whether the part with this token was divided. */
  isDivided(token: string): boolean {
    return this.#intent.divided?.includes(this.#partOf(token)) ?? false
  }

  /** Whether the intent itself was divided. Its parts then keep their tokens. */
  get isInParts(): boolean {
    return this.#intent.divided?.some((part) => !part.startsWith(ABSENT)) ?? false
  }

  /** Whether rows may be stored under another token, and the destination would store them twice. */
  get mayBeStored(): boolean {
    const { mayBeStored, divided } = this.#intent
    return this.#inserter.receivedAt !== undefined && (mayBeStored === true || divided !== undefined)
  }

  /** Call it when rows of the intent are stored: the destination works. */
  took(): void {
    this.#isProven = true
  }

  /** Notes that a refused part is divided. @throws the refusal, while it is too early for that */
  async divide(token: string, refusal: UnclearRefusalError): Promise<void> {
    await this.#assertMayDivide(refusal)
    await this.#writeDivided(token)
  }

  /** Call it before dividing a part that was clearly refused. Only the first division is noted: it sets `mayBeStored`. */
  async noteDivided(token: string): Promise<void> {
    if (this.#intent.divided === undefined) await this.#writeDivided(token)
  }

  async #writeDivided(token: string): Promise<void> {
    const divided = [...(this.#intent.divided ?? []), this.#partOf(token)]
    this.#intent = { ...this.#intent, divided, ...(this.#inserter.receivedAt !== undefined && { mayBeStored: true }) }
    await this.#write(this.#intent)
  }

  /**
   * Notes that a row was refused alone. It may be given up if `assertProven` does not throw.
   * @param row a name for the row
   * @throws the refusal, when no row may be given up yet
   */
  async giveUp(row: string, refusal: UnclearRefusalError): Promise<void> {
    await this.#assertMayDivide(refusal)
    this.#last = refusal
    const known = this.#refusedAlone.get(row)
    const first = known?.kind === refusal.kind ? known : { kind: refusal.kind, atMs: performance.now() }
    this.#refusedAlone.set(row, first)
    if (first !== known || performance.now() - first.atMs < this.#confirmAfterMs) this.#unconfirmed = refusal
    if (++this.#alone >= ALONE_WITHOUT_PROOF_MAX) this.#assertOthersTaken(refusal)
  }

  /** @throws a refusal, if a row was refused for the first time, or nothing proves that the destination takes other rows */
  assertProven(): void {
    if (this.#unconfirmed !== undefined) throw this.#unconfirmed
    if (this.#last !== undefined) this.#assertOthersTaken(this.#last)
  }

  #assertOthersTaken(refusal: UnclearRefusalError): void {
    if (!this.#isProven && this.#tries < TRIES_WITHOUT_PROOF_MAX) throw refusal
  }

  async #assertMayDivide(refusal: UnclearRefusalError): Promise<void> {
    if (this.#tries < TRIES_MAX && this.#intent.divided === undefined) throw refusal
    await this.#inserter.assertOpen?.()
  }

  #partOf(token: string): string {
    return token.slice(this.#intent.token.length)
  }
}
