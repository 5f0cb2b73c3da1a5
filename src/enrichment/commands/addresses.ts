import { StringDecoder } from 'node:string_decoder'
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
import { judgedLookup, ruleSetOf } from '../judge.ts'
import { DataLookups } from '../lookup-service.ts'
import { ReverseDns } from '../providers/rdns/reverse-dns.ts'
import { enrichedJson, enrichedText, type Found } from './output.ts'

interface EnrichRequest {
  /** Addresses as given; `-` reads them from standard input. */
  readonly ips: readonly string[]
  /** Undefined for the starter data. */
  readonly enrichDir: string | undefined
  /** Folder of the default data sets; undefined for none. */
  readonly defaultsDir?: string | undefined
  /** Folder of fetched data; undefined for none. */
  readonly fetchedDir?: string | undefined
  /** Apply the rules of this tenant. */
  readonly tenant?: TenantRules | undefined
  readonly rdns?: boolean
  readonly rdnsServers?: string
  readonly explain?: boolean
  readonly json?: boolean
}

/** Parallel lookups: reverse DNS is slow. */
const PARALLEL_MAX = 64

/** `ipid enrich`: prints the enrichment of each address, in the given order. */
export async function enrichAddresses(request: EnrichRequest, context: CliContext): Promise<void> {
  const servers = request.rdnsServers === undefined ? undefined : readNameServers(request.rdnsServers)
  const metrics = new Registry()
  const log = pino({ level: 'silent' })
  const { enrichDir: dir, defaultsDir, fetchedDir } = request
  const engine = new EnrichmentEngine({ dir, defaultsDir, fetchedDir, log, metrics })
  const reverseDns = request.rdns === true ? new ReverseDns({ servers, clock: systemClock, metrics, log }) : undefined
  await engine.start()
  for (const { path, reason } of leftOut(engine.providers())) {
    printLine(context.stderr, `ipid: ${path} is skipped: ${reason}`)
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
  for (let at = 0; at < ips.length; at += PARALLEL_MAX) {
    const part = ips.slice(at, at + PARALLEL_MAX)
    const lookups = await Promise.all(part.map((ip) => lookUp(ip, service)))
    for (const lookup of lookups) for (const name of lookup?.answered ?? []) answered.add(name)
    const explained = request.explain === true ? service.providerNames() : undefined
    const text = part.map((ip, i) => print(foundOf(ip, lookups[i], request.tenant, service), explained)).join('')
    // A reader such as `head` closes the pipe early.
    if (stdout.destroyed) return
    await printMore(stdout, text).catch(() => {})
  }
}

function foundOf(
  ip: string,
  lookup: Lookup | undefined,
  tenant: TenantRules | undefined,
  service: LookupService,
): Found {
  if (tenant === undefined) return { ip, lookup }
  const address = parseAddress(ip)
  if (lookup === undefined || address === undefined) return { ip, lookup, rule: null }
  const found = judgedLookup(lookup, address, ruleSetOf(tenant), (domain) => service.organisationOf?.(domain))
  return { ip, lookup: found.lookup, rule: found.rule ?? null }
}

/** Prints the attributions that licences require. On standard error, because programs read standard output. */
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

/** Lines are cut to this length in characters. */
const LINE_MAX = 1_000

/** The lines of a stream, trimmed, without blank ones. Yields the lines of each chunk as one list. */
async function* linesIn(stream: AsyncIterable<Buffer | string>): AsyncGenerator<string[]> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + (typeof chunk === 'string' ? chunk : decoder.write(chunk))).split('\n')
    rest = lines.pop()!.slice(0, LINE_MAX)
    const whole = lines.map(tidy).filter((line) => line !== '')
    if (whole.length > 0) yield whole
  }
  const last = tidy(rest + decoder.end())
  if (last !== '') yield [last]
}

function tidy(line: string): string {
  return line.slice(0, LINE_MAX).trim()
}
