import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { TenantRules } from '../../../schemas/tenant-rules.ts'
import { readNameServers } from '../../config/name-servers.ts'
import type { Lookup, LookupService } from '../../lookup/lookup.ts'
import { parseAddress } from '../../pipeline/event/address.ts'
import { systemClock } from '../../run/clock.ts'
import type { CliContext } from '../../terminal/context.ts'
import { printLine, printMore } from '../../terminal/print.ts'
import { EnrichmentEngine } from '../engine.ts'
import { attributionOf } from '../files/attribution.ts'
import { leftOut } from '../files/report.ts'
import { DataLookups } from '../lookup-service.ts'
import { ReverseDns } from '../providers/rdns/reverse-dns.ts'
import { judgedLookup, ruleSetOf } from '../tenant-rules/judge.ts'
import { linesIn } from './lines.ts'
import { enrichedJson, enrichedText, type Found } from './output.ts'

/** What `ipid enrich` was asked. */
export interface EnrichRequest {
  /** Addresses as written; `-` stands for those on standard input. */
  readonly ips: readonly string[]
  /** Undefined: the starter data. */
  readonly enrichDir: string | undefined
  /** Of the default data sets; undefined: without them. */
  readonly defaultsDir?: string | undefined
  /** Of data that were fetched; undefined: there are none. */
  readonly fetchedDir?: string | undefined
  /** Whose rules judge; undefined: nobody's. */
  readonly tenant?: TenantRules | undefined
  readonly rdns?: boolean
  readonly rdnsServers?: string
  readonly explain?: boolean
  readonly json?: boolean
}

/** Addresses that are asked for at once, where reverse DNS takes its time. */
const AT_ONCE = 64

/** Prints what is known of each address, in their order. */
export async function enrichAddresses(request: EnrichRequest, context: CliContext): Promise<void> {
  const servers = request.rdnsServers === undefined ? undefined : readNameServers(request.rdnsServers)
  const metrics = new Registry()
  const log = pino({ level: 'silent' })
  const { enrichDir: dir, defaultsDir, fetchedDir } = request
  const engine = new EnrichmentEngine({ dir, defaultsDir, fetchedDir, log, metrics })
  const reverseDns = request.rdns === true ? new ReverseDns({ servers, clock: systemClock, metrics, log }) : undefined
  await engine.start()
  for (const { path, reason } of leftOut(engine.providers())) {
    printLine(context.stderr, `ipid: ${path} is left out: ${reason}`)
  }
  const service = new DataLookups({ engine, reverseDns, asksAlways: true })
  const answered = new Set<string>()
  try {
    for await (const ips of addressesOf(request, context)) await printAll(ips, service, request, answered, context)
    printAttributions(request, answered, context)
  } finally {
    await reverseDns?.stop()
    await engine.stop()
  }
}

async function* addressesOf({ ips }: EnrichRequest, { stdin }: CliContext): AsyncGenerator<readonly string[]> {
  let isRead = false
  for (const ip of ips) {
    if (ip !== '-') yield [ip]
    else if (!isRead) yield* linesIn(stdin)
    isRead ||= ip === '-'
  }
}

async function printAll(
  ips: readonly string[],
  service: LookupService,
  request: EnrichRequest,
  answered: Set<string>,
  { stdout }: CliContext,
): Promise<void> {
  const print = request.json === true ? enrichedJson : enrichedText
  for (let at = 0; at < ips.length; at += AT_ONCE) {
    const part = ips.slice(at, at + AT_ONCE)
    const lookups = await Promise.all(part.map((ip) => lookUp(ip, service)))
    for (const lookup of lookups) for (const name of lookup?.answered ?? []) answered.add(name)
    const explained = request.explain === true ? service.providerNames() : undefined
    const text = part.map((ip, i) => print(foundOf(ip, lookups[i], request.tenant), explained)).join('')
    // Whoever reads may have seen enough (`head`).
    if (stdout.destroyed) return
    await printMore(stdout, text).catch(() => {})
  }
}

function foundOf(ip: string, lookup: Lookup | undefined, tenant: TenantRules | undefined): Found {
  if (tenant === undefined) return { ip, lookup }
  const address = parseAddress(ip)
  if (lookup === undefined || address === undefined) return { ip, lookup, rule: null }
  const found = judgedLookup(lookup, address, ruleSetOf(tenant))
  return { ip, lookup: found.lookup, rule: found.rule ?? null }
}

/** What licences want to be said where people see results. Beside them: the output is for programs, too. */
function printAttributions(request: EnrichRequest, answered: ReadonlySet<string>, { stderr }: CliContext): void {
  if (request.json === true && !stderr.isTTY) return
  for (const name of answered) {
    const attribution = attributionOf(name)
    if (attribution !== undefined) printLine(stderr, `${name}: ${attribution}`)
  }
}

function lookUp(ip: string, service: LookupService): Lookup | Promise<Lookup> | undefined {
  const address = parseAddress(ip)
  return address === undefined ? undefined : service.lookup(address, {})
}
