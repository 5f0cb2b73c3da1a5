import { parseAddress } from '../pipeline/event/address.ts'
import type { Lookup, LookupService } from './lookup.ts'
import { invalidAddressJson, type ResultForm, resultJson } from './result.ts'

/** Addresses of one request that are looked up at the same time when providers are slow. */
const AHEAD_MAX = 16
/** A group is yielded at this size, or when its next line is not ready yet. */
const GROUP_CHARS = 16_384

/** A line that is being made. */
interface Slot {
  line: string | undefined
  /** Resolves when the line is ready; undefined when it was ready at once. */
  readonly ready: Promise<void> | undefined
}

/**
 * Looks up addresses and yields lines of JSON in their order, in groups of lines that are ready together. Looks up only a
 * few addresses ahead of its reader. Does not throw: `LookupService.lookup` never does.
 * @param ips 1 or more, as the caller wrote them; invalid ones give `invalid_ip`
 */
export async function* lookupLines(
  ips: readonly string[],
  form: ResultForm,
  service: LookupService,
): AsyncGenerator<readonly string[], void, void> {
  const slots: Slot[] = []
  let started = 0
  let group: string[] = []
  let chars = 0
  for (let done = 0; done < ips.length; done++) {
    while (started < ips.length && slots.length < AHEAD_MAX) slots.push(startLine(ips[started++]!, form, service))
    const slot = slots.shift()!
    if (slot.line === undefined) {
      if (group.length > 0) yield group
      group = []
      chars = 0
      await slot.ready
    }
    group.push(slot.line!)
    chars += slot.line!.length
    if (chars >= GROUP_CHARS) {
      yield group
      group = []
      chars = 0
    }
  }
  if (group.length > 0) yield group
}

function startLine(ip: string, form: ResultForm, service: LookupService): Slot {
  const address = parseAddress(ip)
  if (address === undefined) return { line: invalidAddressJson(ip), ready: undefined }
  const found = service.lookup(address, form.options)
  if (!(found instanceof Promise)) return { line: resultJson(ip, found, form), ready: undefined }
  const ready = found.then((lookup: Lookup) => {
    slot.line = resultJson(ip, lookup, form)
  })
  // An awaited failure is handled there; a request that ends early awaits nothing.
  ready.catch(() => {})
  const slot: Slot = { line: undefined, ready }
  return slot
}

/** How many of these are valid addresses. */
export function countAddresses(ips: readonly string[]): number {
  let count = 0
  for (const ip of ips) if (parseAddress(ip) !== undefined) count++
  return count
}
