import { type Inserter, UnclearRefusalError } from '../core/pipeline/destination.ts'
import type { SinkIntent } from './sink-ports.ts'

/** So often an intent is refused for no clear reason before its rows are tried apart. */
const TRIES_MAX = 5
/** So often when none of its rows is taken: then it is more likely the destination than the rows; about 2 minutes. */
const TRIES_WITHOUT_PROOF_MAX = 40
/** Rows that are tried alone before one is taken; the others are no proof either. */
const ALONE_WITHOUT_PROOF_MAX = 50

/**
 * What a sink makes of refusals that may be the rows' fault or not: at first the destination's, so that the intent is tried
 * again; then, while the destination is open, the rows'. A row is given up when others of its intent are taken, or when a
 * long time has passed. Which parts of an intent were taken apart is written into it before the parts are sent: what was
 * refused as a whole is never sent as a whole again, should it be taken by then, since some of its rows may be stored.
 */
export class Doubt {
  readonly #inserter: Inserter
  readonly #write: (intent: SinkIntent) => Promise<void>
  #intent: SinkIntent = { token: '', ranges: [] }
  #tries = 0
  #isProven = false
  #alone = 0
  #last: UnclearRefusalError | undefined

  /** @param write makes an intent durable */
  constructor(inserter: Inserter, write: (intent: SinkIntent) => Promise<void>) {
    this.#inserter = inserter
    this.#write = write
  }

  /** The intent as it is written by now. */
  get intent(): SinkIntent {
    return this.#intent
  }

  /** To be called before each try of an intent. */
  begin(intent: SinkIntent): void {
    if (intent.token !== this.#intent.token) this.#tries = 0
    this.#intent = intent
    this.#isProven = false
    this.#alone = 0
    this.#last = undefined
  }

  /** To be called when a try has failed. */
  failed(error: unknown): void {
    if (error instanceof UnclearRefusalError) this.#tries++
  }

  /** Whether the part of this token was taken apart. */
  isDivided(token: string): boolean {
    return this.#intent.divided?.includes(this.#partOf(token)) ?? false
  }

  /** A part was stored: rows can be. */
  took(): void {
    this.#isProven = true
  }

  /** Takes a part apart that was refused. @throws the refusal, while it is too early for that */
  async divide(token: string, refusal: UnclearRefusalError): Promise<void> {
    await this.#demandFault(refusal)
    this.#intent = { ...this.#intent, divided: [...(this.#intent.divided ?? []), this.#partOf(token)] }
    await this.#write(this.#intent)
  }

  /** A row that was sent alone is refused. @throws the refusal, unless the row may be given up for it */
  async giveUp(refusal: UnclearRefusalError): Promise<void> {
    await this.#demandFault(refusal)
    this.#last = refusal
    if (++this.#alone >= ALONE_WITHOUT_PROOF_MAX) this.demandProof()
  }

  /** @throws the last refusal of a row, when there is one, and no proof that other rows are taken */
  demandProof(): void {
    if (this.#last === undefined || this.#isProven || this.#tries >= TRIES_WITHOUT_PROOF_MAX) return
    throw this.#last
  }

  async #demandFault(refusal: UnclearRefusalError): Promise<void> {
    if (this.#tries < TRIES_MAX && this.#intent.divided === undefined) throw refusal
    await this.#inserter.demandOpen?.()
  }

  #partOf(token: string): string {
    return token.slice(this.#intent.token.length)
  }
}
