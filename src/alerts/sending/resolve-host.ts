import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

interface ResolveOptions {
  /** `address` or `address:port`. Default: those of the machine. */
  readonly servers?: readonly string[]
  readonly hostsFile?: string
}

const TRY_MS = 3_000
const TRIES = 2

/**
 * All addresses of a host name: those of the hosts file, else those of the name servers. `dns.lookup` would hold one of the few threads of
 * the process while a name server is silent, and cannot be cancelled. It also appends the search domains of the machine, so here a name
 * must be complete.
 * @throws the failure of the name servers, with its `code`; when `signal` aborts, `ECANCELLED`
 */
export async function resolveHost(
  host: string,
  signal: AbortSignal,
  { servers, hostsFile = '/etc/hosts' }: ResolveOptions = {},
): Promise<readonly LookupAddress[]> {
  const listed = listedIn(await readFile(hostsFile, 'utf8').catch(() => ''), host)
  if (listed.length > 0) return listed
  signal.throwIfAborted()
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES })
  if (servers !== undefined) resolver.setServers(servers)
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const found = [...lookupAddresses(v4, 4), ...lookupAddresses(v6, 6)]
    if (found.length > 0) return found
    const failures = [v4, v6].flatMap((settled) => (settled.status === 'rejected' ? [settled.reason] : []))
    throw failures.find(({ code }) => code !== 'ENODATA' && code !== 'ENOTFOUND') ?? failures[0]
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

function lookupAddresses(settled: PromiseSettledResult<string[]>, family: number): LookupAddress[] {
  return settled.status === 'fulfilled' ? settled.value.map((address) => ({ address, family })) : []
}

function listedIn(hosts: string, host: string): LookupAddress[] {
  const wanted = host.toLowerCase()
  return hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const family = isIP(address)
    return family !== 0 && names.some((name) => name.toLowerCase() === wanted) ? [{ address, family }] : []
  })
}
