import type { Resolver } from 'node:dns/promises'
import { type Address, parseAddress } from '../../../pipeline/event/address.ts'
import { hostnameIn } from '../../rules/domain.ts'

/** The answer of the name servers for an address. */
export interface HostnameAnswer {
  /** Lower case, without a final dot; undefined when no name resolves back to the address. */
  readonly hostname: string | undefined
  /** Time to live of the confirming record in seconds; 0 without one. */
  readonly ttlSeconds: number
}

type QueryResolver = Pick<Resolver, 'resolvePtr' | 'resolve4' | 'resolve6'>

const NONE: HostnameAnswer = { hostname: undefined, ttlSeconds: 0 }
/** Longest name of a host, RFC 1035. */
const HOSTNAME_MAX = 253
/** Error codes of negative answers. */
const NEGATIVE = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

/** Error codes without any answer of a name server, not even a failure. */
const UNANSWERED = new Set(['ETIMEOUT', 'ECONNREFUSED', 'ECANCELLED'])

/**
 * The forward-confirmed reverse name of an address: a name whose address records contain the address. The owner of a
 * reverse zone can write any name into it.
 * @param answered called when a name server answers anything
 * @throws when there is no valid answer: a time-out, SERVFAIL, a refusal
 */
export async function askHostname(
  resolver: QueryResolver,
  address: Address,
  namesMax: number,
  answered: () => void,
): Promise<HostnameAnswer> {
  const names = await orNothing(resolver.resolvePtr(reverseName(address)), answered)
  let failure: unknown
  for (const name of hostnamesIn(names).slice(0, namesMax)) {
    try {
      const ttlSeconds = await confirm(resolver, name, address, answered)
      if (ttlSeconds !== undefined) return { hostname: name, ttlSeconds }
    } catch (error) {
      if (isCancelled(error)) throw error
      failure ??= error
    }
  }
  if (failure !== undefined) throw failure
  return NONE
}

/** `4.3.2.1.in-addr.arpa` (RFC 1035 section 3.5), or the nibbles under `ip6.arpa` (RFC 3596 section 2.5). */
export function reverseName({ v4, v6 }: Address): string {
  if (v6 === undefined) return `${v4 & 255}.${(v4 >>> 8) & 255}.${(v4 >>> 16) & 255}.${v4 >>> 24}.in-addr.arpa`
  const nibbles = v6.map((group) => group.toString(16).padStart(4, '0')).join('')
  return `${[...nibbles].reverse().join('.')}.ip6.arpa`
}

/** The valid host names, without duplicates. */
function hostnamesIn(names: readonly string[]): string[] {
  const valid = names
    .filter((name) => name.length <= HOSTNAME_MAX && /^[\w.-]+$/.test(name))
    .map(hostnameIn)
    .filter((name) => name !== undefined)
  return [...new Set(valid)]
}

/** The time to live of the record that resolves the name to the address, in seconds; undefined without one. */
async function confirm(
  resolver: QueryResolver,
  name: string,
  address: Address,
  answered: () => void,
): Promise<number | undefined> {
  const ttl = { ttl: true } as const
  const records = await orNothing(
    address.v6 === undefined ? resolver.resolve4(name, ttl) : resolver.resolve6(name, ttl),
    answered,
  )
  return records.find((record) => parseAddress(record.address)?.text === address.text)?.ttl
}

function isCancelled(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ECANCELLED'
}

/** A negative answer is an empty list. */
async function orNothing<T>(query: Promise<T[]>, answered: () => void): Promise<T[]> {
  try {
    const records = await query
    answered()
    return records
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (!UNANSWERED.has(code)) answered()
    if (NEGATIVE.has(code)) return []
    throw error
  }
}
