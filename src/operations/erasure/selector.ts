import type { KeyObject } from 'node:crypto'
import { parseAddress } from '../../pipeline/event/address.ts'
import { maskedAddress } from '../../pipeline/event/pseudonym.ts'
import { InputError } from '../../run/errors.ts'
import { isSourceId } from '../../tenants/key.ts'

/** Selects the events of a tenant to erase. */
export interface Selector {
  readonly kind: 'ip' | 'account' | 'event' | 'source'
  /** The search value; an address in canonical text. */
  readonly value: string
  /** Masked forms of the address in rows of a UTC day; undefined: the tenant has always kept full addresses. */
  readonly maskedOn?: ((day: string) => readonly string[]) | undefined
}

/** Also finds events whose addresses were masked. @param key the tenant's key, see `AddressMask` */
export function withMasked(selector: Selector, key: KeyObject | undefined): Selector {
  const address = selector.kind === 'ip' && key !== undefined ? parseAddress(selector.value) : undefined
  if (address === undefined || key === undefined) return selector
  const keeps = ['truncated', 'dropped'] as const
  return { ...selector, maskedOn: (day) => keeps.map((keep) => maskedAddress({ keep, key }, address, day)) }
}

export interface SelectorFlags {
  readonly ip?: string
  readonly account?: string
  readonly event?: string
  readonly source?: string
}

/** @throws InputError unless exactly one is given, or when an address is invalid */
export function selectorOf({ ip, account, event, source }: SelectorFlags): Selector {
  const given = [
    { kind: 'ip', value: ip } as const,
    { kind: 'account', value: account } as const,
    { kind: 'event', value: event } as const,
    { kind: 'source', value: source } as const,
  ].filter((selector): selector is Selector => selector.value !== undefined)
  const [only] = given
  if (only === undefined || given.length > 1) throw new InputError('give one of --ip, --account, --event and --source')
  if (only.value === '') throw new InputError(`--${only.kind} is empty`)
  if (only.kind === 'source' && !isSourceId(only.value)) {
    throw new InputError('--source: a source id is src_ and 7 digits: see ipid source list')
  }
  if (only.kind !== 'ip') return only
  const address = parseAddress(only.value)
  if (address === undefined) throw new InputError('--ip is no IP address')
  return { kind: 'ip', value: address.text }
}

/** The fields of an archived line that selectors need. */
export interface ArchivedLine {
  readonly _received_at: string
  readonly _event_id: string
  readonly ip?: unknown
  readonly account_id?: unknown
  readonly _source_id?: unknown
}

/** `unsaid`: only the event's row tells, because its account was derived, or the line is of a version before sources. */
export function matchLine({ kind, value }: Selector, line: ArchivedLine): 'yes' | 'no' | 'unsaid' {
  switch (kind) {
    case 'ip':
      return typeof line.ip === 'string' && namesAddress(line.ip, value) ? 'yes' : 'no'
    case 'event':
      return line._event_id === value ? 'yes' : 'no'
    case 'source':
      if (line._source_id === undefined) return 'unsaid'
      return line._source_id === value ? 'yes' : 'no'
    case 'account':
      if (typeof line.account_id !== 'string' || line.account_id === '') return 'unsaid'
      return line.account_id === value ? 'yes' : 'no'
  }
}

const V4_LIKE = /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\d)/g
const V6_LIKE = /(?:(?<![0-9a-f])[0-9a-f]+)?:[0-9a-f:]*(?:\.\d{1,3}|[0-9a-f])*/gi

/**
 * Whether a text contains an address in any spelling, even next to a port or a space.
 * @param canonical text of an address
 */
export function namesAddress(text: string, canonical: string): boolean {
  if (parseAddress(text)?.text === canonical) return true
  const candidates = [...(text.match(V4_LIKE) ?? []), ...(text.match(V6_LIKE) ?? [])]
  return candidates.some((candidate) => parseAddress(candidate)?.text === canonical)
}
