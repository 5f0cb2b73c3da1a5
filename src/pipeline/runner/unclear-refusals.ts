import { type Inserter, UnclearRefusalError } from '../declaration/destination.ts'
import type { SinkIntent } from './sink-ports.ts'

/** What the token of absent rows has behind that of their intent, and a number behind that. */
export const ABSENT = '.absent'
/** So often an intent is refused for no clear reason before its rows are tried apart. */
const TRIES_MAX = 5
/** So often when none of its rows is taken: then it is more likely the destination than the rows; about 2 minutes. */
const TRIES_WITHOUT_PROOF_MAX = 40
/** Rows that are tried alone before one is taken; the others are no proof either. */
const ALONE_WITHOUT_PROOF_MAX = 50

/**
 * What a sink makes of refusals that may be the rows' fault or not: at first the destination's, so that the intent is tried
 * again; then, while the destination is open, the rows'. A row is given up when it was refused alone twice, some time apart and
 * for the same reason, and others of its intent are taken, or a long time has passed. Which parts of an intent were taken
 * apart is written into it before the parts are sent: what was refused as a whole is never sent as a whole again, should it
 * be taken by then, since some of its rows may be stored. And a try of the whole may have stored it and lost its answer,
 * which tokens of parts do not tell: from the first division on, no part is sent whose rows are stored.
 */
export class UnclearRefusals {
  readonly #inserter: Inserter
  readonly #write: (intent: SinkIntent) => Promise<void>
  readonly #confirmAfterMs: number
  /** Rows of the intent that were refused alone: why, and when for the first time (`performance.now()`). */
  readonly #refusedAlone = new Map<string, { readonly kind: string; readonly atMs: number }>()
  #intent: SinkIntent = { token: '', ranges: [] }
  #tries = 0
  #isProven = false
  #alone = 0
  #last: UnclearRefusalError | undefined
  #unconfirmed: UnclearRefusalError | undefined

  /**
   * @param write makes an intent durable
   * @param confirmAfterMs so long after it was refused alone for the first time a row may be given up
   */
  constructor(inserter: Inserter, write: (intent: SinkIntent) => Promise<void>, confirmAfterMs: number) {
    this.#inserter = inserter
    this.#write = write
    this.#confirmAfterMs = confirmAfterMs
  }

  /** The intent as it is written by now. */
  get intent(): SinkIntent {
    return this.#intent
  }

  /** To be called before each try of an intent. */
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

  /** To be called when a try has failed. */
  failed(error: unknown): void {
    if (error instanceof UnclearRefusalError) this.#tries++
  }

  /** Whether the part of this token was taken apart. */
  isDivided(token: string): boolean {
    return this.#intent.divided?.includes(this.#partOf(token)) ?? false
  }

  /** Whether parts of the whole went out apart: they keep their tokens then. */
  get isInParts(): boolean {
    return this.#intent.divided?.some((part) => !part.startsWith(ABSENT)) ?? false
  }

  /** Whether rows of a part may be stored under the token of another one, where that matters. */
  get mayBeStored(): boolean {
    const { mayBeStored, divided } = this.#intent
    return this.#inserter.receivedAt !== undefined && (mayBeStored === true || divided !== undefined)
  }

  /** Rows of the intent are stored: they can be. */
  took(): void {
    this.#isProven = true
  }

  /** Takes a part apart that was refused. @throws the refusal, while it is too early for that */
  async divide(token: string, refusal: UnclearRefusalError): Promise<void> {
    await this.#assertMayDivide(refusal)
    await this.#writeDivided(token)
  }

  /**
   * To be called before a part is taken apart that was refused for its rows. That the first of them was is enough: from then on no
   * part is sent whose rows are stored.
   */
  async noteDivided(token: string): Promise<void> {
    if (this.#intent.divided === undefined) await this.#writeDivided(token)
  }

  async #writeDivided(token: string): Promise<void> {
    const divided = [...(this.#intent.divided ?? []), this.#partOf(token)]
    this.#intent = { ...this.#intent, divided, ...(this.#inserter.receivedAt !== undefined && { mayBeStored: true }) }
    await this.#write(this.#intent)
  }

  /**
   * A row that was sent alone is refused. It may be given up when `assertProven` throws nothing.
   * @param row names it
   * @throws the refusal, when no row may be given up
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

  /** @throws a refusal of a row, when that was its first one, or there is no proof that other rows are taken */
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
