import type { ServerResponse } from 'node:http'
import type { BodyWriter, ResponseReader } from '../engine.ts'
import { flush } from './flush.ts'

/** The least that is written at once after the beginning. */
const WRITE_MIN_CHARS = 16_384

/**
 * The chunked body of a response. Holds the part of a write that the kernel did not take, and writes nothing more until it
 * did.
 */
export class NodeBodyWriter implements BodyWriter {
  readonly #response: ServerResponse
  readonly #reader: ResponseReader
  #held = ''
  #begun = false

  constructor(response: ServerResponse, reader: ResponseReader) {
    this.#response = response
    this.#reader = reader
  }

  add(text: string): void {
    this.#held += text
  }

  write(rest: boolean): 'more' | 'full' | 'none' {
    const text = this.#held
    if (text === '' || (!rest && this.#begun && text.length < WRITE_MIN_CHARS)) return 'none'
    this.#held = ''
    this.#begun = true
    let full = false
    const sent = flush(this.#response, () =>
      this.#response.write(text, (error) => {
        if (!full || error) return
        this.#reader.moved()
        this.#reader.hasRoom()
      }),
    )
    full = !sent
    return sent ? 'more' : 'full'
  }

  end(): boolean {
    this.#response.end()
    return true
  }
}
