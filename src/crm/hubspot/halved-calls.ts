import { WireRefusedError } from './wire.ts'

/** Refused calls with several inputs, without an accepted call in between. With 50 inputs a call, that is about 200 calls. */
const REFUSED_MAX = 100

/**
 * Calls that HubSpot may refuse as a whole, which must be safe to repeat. A refused call is repeated with each half of its inputs until the
 * faulty ones are alone. When HubSpot refuses everything, the inputs are not at fault, and halving them would take 99 calls for each 50.
 */
export class HalvedCalls {
  #refusedInRow = 0

  /**
   * @param ask throws `WireRefusedError` when HubSpot refuses these inputs
   * @param refuse gets each input that HubSpot refuses alone
   * @returns the accepted calls
   * @throws Error when HubSpot refuses everything
   */
  async answers<I, T>(
    inputs: readonly I[],
    ask: (part: readonly I[]) => Promise<T>,
    refuse: (input: I, reason: string) => void,
  ): Promise<readonly { readonly part: readonly I[]; readonly answer: T }[]> {
    if (inputs.length === 0) return []
    try {
      const answer = await ask(inputs)
      this.#refusedInRow = 0
      return [{ part: inputs, answer }]
    } catch (error) {
      if (!(error instanceof WireRefusedError)) throw error
      if (inputs.length === 1) {
        refuse(inputs[0]!, error.message)
        return []
      }
      if (++this.#refusedInRow >= REFUSED_MAX)
        throw new Error(
          `HubSpot refuses all companies: ${error.message}. Was a property of the group ipid changed there? Delete it: the next sync makes it again`,
        )
      const half = Math.ceil(inputs.length / 2)
      const first = await this.answers(inputs.slice(0, half), ask, refuse)
      return [...first, ...(await this.answers(inputs.slice(half), ask, refuse))]
    }
  }
}
