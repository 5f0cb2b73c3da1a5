import { Command, Option } from 'commander'
import { SOURCE_ADDRESSES, type SourceFacts } from '../../../schemas/api-key.ts'
import type { ListedSource, SourceSetup } from '../../../schemas/dashboard/sources.ts'
import type { Config } from '../../config/config.ts'
import { httpOrigin } from '../../config/values.ts'
import type { Pull } from '../../pipeline/declaration/pull.ts'
import type { Source, SourceTool } from '../../pipeline/declaration/source.ts'
import {
  addJsonOptions,
  drainSecret,
  type JsonOptions,
  jsonFacts,
  losesSecret,
} from '../../pipeline/sources/http/commands/options.ts'
import type { PullOptions } from '../../pipeline/sources/pulls/commands/create.ts'
import type { PullStatus } from '../../pipeline/sources/pulls/state.ts'
import { numbered } from '../../run/counted.ts'
import { InputError, StartupError } from '../../run/errors.ts'
import type { CliContext } from '../../terminal/context.ts'
import { printJson, printLine, printLines, printPairs, printTable } from '../../terminal/print.ts'
import { configOf, INSTANCE_SETTINGS } from '../../terminal/settings-options.ts'
import { addSubcommand, manageTenants } from '../../terminal/subcommand.ts'
import type { SourceCounts } from '../sources/health.ts'
import { healthLines, sourceReport, todayPairs } from '../sources/report.ts'
import { assertAddressCounts, setupOf, setupText } from '../sources/setup.ts'
import type { StoredKey, StoredSource } from '../stores.ts'

/** The list does not wait longer for ClickHouse. */
const COUNTS_MS = 10_000

interface SourceOptions extends PullOptions, JsonOptions {
  readonly name?: string
  readonly address?: SourceFacts['address']
  readonly json?: boolean
  readonly from?: string
  readonly secret?: boolean
}

/** `ipid source create|list|show|set|run|pause|resume|revoke` */
export function sourceCommand(context: CliContext): Command {
  const source = new Command('source')
  addCreate(source, context)
  addShow(source, context)
  addList(source, context)
  addSet(source, context)
  addRun(source, context)
  addPauseAndResume(source, context)
  addRevoke(source, context)
  return source
}

/** Settings of the commands that encrypt the secrets of a source. */
const SEALING_SETTINGS = [...INSTANCE_SETTINGS, 'secretsKey'] as const

/** The settings with the key of the running instance, or why it is another one. */
async function sealingConfig(context: CliContext, command: Command): Promise<Config> {
  const { asInstance } = await import('../../terminal/instance.ts')
  return await asInstance(configOf(context, command))
}

function addCreate(source: Command, context: CliContext): void {
  addJsonOptions(
    addSubcommand(
      source,
      'create <tenant> <kind>',
      'create a source: its keys, and the text to paste; a server key is shown this once',
      SEALING_SETTINGS,
    ),
  )
    .option('--name <text>', 'name for people')
    .option(
      '--url <url>',
      'address of the API as the sender sees it (default: that of the running instance); s3: s3://bucket/prefix?endpoint=…&region=…',
    )
    .addOption(addressOption())
    .option('--every <time>', 's3, amplitude-export: pause between two runs, like 5m or 1h')
    .option(
      '--format <name>',
      's3: format of the objects, as "ipid sync" has it (default: auto, recognised by content)',
    )
    .option(
      '--credentials <instance>',
      "s3: reads with the instance's AWS credentials (default: those of this command)",
    )
    .option('--region <us|eu>', 'amplitude-export: where the project is')
    .option('--endpoint <url>', 'amplitude-export: base URL of the API (default: that of the region)')
    .option('--secret', 'http: the signature secret of a Vercel drain, from VERCEL_DRAIN_SECRET or the terminal')
    .action(async (tenant: string, kind: string, options: SourceOptions, command: Command) => {
      const { tool, pull } = await sourceOfKind(kind)
      const json = jsonFacts(tool!, options)
      if (pull !== undefined) {
        if (options.secret) throw new InputError('--secret: this kind always asks for its secrets')
        await createPull(context, tenant, kind, pull, options, command)
        return
      }
      const { assertNoPullOptions } = await import('../../pipeline/sources/pulls/commands/create.ts')
      assertNoPullOptions(options)
      const base = await senderUrl(context, options.url, command)
      const { name, address = 'auto' } = options
      if (options.address !== undefined) assertAddressCounts(tool, kind)
      const facts = { kind, address, base, ...(name && { name }), ...json }
      const secret = options.secret
        ? await drainSecret(tool!, facts, await sealingConfig(context, command), context)
        : undefined
      const created = await manageTenants(context, command, (admin) =>
        admin.createSource(tenant, facts, { keys: tool!.keys, secret }),
      )
      const { id, key, browserKey, source: made, createdAt } = created
      const url = base + tool!.path(key)
      const setup = setupOf(tool!, { prefix: id, source: made }, base, key)
      if (options.json) {
        const keys = { key, ...(tool!.keys === 'both' && { browser_key: browserKey }) }
        printJson(context.stdout, {
          ...{ source_id: id, kind, tenant_id: tenant, ...keys, url, setup: setupText(setup) },
          ...{ blocks: setup.blocks, warning: setup.warning, created_at: createdAt },
        })
        return
      }
      const isSecret = tool!.keys !== 'browser'
      printPairs(context.stdout, [
        ['source', id],
        ['kind', kind],
        ['tenant', tenant],
        [isSecret ? 'server key' : 'browser key', key],
        ...(isSecret && browserKey !== undefined ? [['browser key', browserKey] as const] : []),
        ['url', url],
        ['created', createdAt],
      ])
      if (isSecret) printLines(context.stdout, '\nThe server key is secret, and shown only now.\n')
      printSetup(context, setup, id)
    })
}

async function createPull(
  context: CliContext,
  tenant: string,
  kind: string,
  pull: Pull,
  options: SourceOptions,
  command: Command,
) {
  const { newPull } = await import('../../pipeline/sources/pulls/commands/create.ts')
  const { facts, secret } = await newPull(pull, options, await sealingConfig(context, command), context)
  const { name } = options
  const {
    id,
    source: own,
    createdAt,
  } = await manageTenants(context, command, (admin) =>
    admin.createSource(tenant, { kind, address: 'payload', ...(name && { name }), pull: facts }, { secret }),
  )
  const url = pull.placeOf(facts.settings)
  const setup = setupText(setupOf((await sourceOfKind(kind)).tool!, { prefix: id, source: own }, ''))
  if (options.json) {
    const made = { source_id: id, kind, tenant_id: tenant, key: null, url, setup, created_at: createdAt }
    printJson(context.stdout, made)
    return
  }
  printPairs(context.stdout, [
    ['source', id],
    ['kind', kind],
    ['tenant', tenant],
    ['url', url],
    ['created', createdAt],
  ])
  printLines(context.stdout, `\n${setup.trimEnd()}\n`)
}

function addShow(source: Command, context: CliContext): void {
  addSubcommand(
    source,
    'show <source>',
    'show a source and the text to paste, with its browser key; a server key is shown only once',
  )
    .option('--url <url>', 'address of the API as the sender sees it; kept for the next time')
    .action(async (id: string, options: SourceOptions, command: Command) => {
      const given = options.url === undefined ? undefined : await senderUrl(context, options.url, command)
      const found = await manageTenants(context, command, (admin) =>
        given === undefined ? admin.getSource(id) : admin.setSource(id, { base: given }),
      )
      const { tool } = await sourceOfKind(found.source.kind)
      const base =
        found.source.base ?? (found.source.pull === undefined ? await senderUrl(context, undefined, command) : '')
      const setup = setupOf(tool!, found, base)
      const counts = knownCounts(context, await countsOf(context, found.tenantId, command))
      const report = sourceReport(found, tool, counts, Date.now())
      if (options.json) {
        const { browser_key, note, blocks, warning } = setup
        const { state, findings, today, last_event, filtered_reasons, filtered_all, rejected_reasons } = report
        printJson(context.stdout, {
          ...{ ...sourceJson(found), browser_key, setup: setupText(setup), note, blocks, warning },
          ...{ state, findings, today, last_event, filtered_reasons, filtered_all, rejected_reasons },
        })
        return
      }
      printPairs(context.stdout, [...pairsOf(found), ...todayPairs(report)])
      printHealth(context, [report])
      printSetup(context, setup, id)
    })
}

/** The setup of a source, and on standard error the problem of its address. */
function printSetup(context: CliContext, setup: SourceSetup, id: string): void {
  if (setup.blocks.length > 0) printLines(context.stdout, `\n${setupText(setup).trimEnd()}\n`)
  if (setup.note !== null) printLines(context.stdout, `\n${setup.note}\n`)
  if (setup.warning === null) return
  printLine(context.stderr, `ipid: ${setup.warning} Then: ./ipid source show ${id} --url https://events.example.com`)
}

/** Checked before a source is made: its key is shown only once. */
async function senderUrl(context: CliContext, given: string | undefined, command: Command): Promise<string> {
  if (given === undefined) {
    const { apiUrlOf, asInstance } = await import('../../terminal/instance.ts')
    const config = await asInstance(configOf(context, command))
    return config.apiUrl ?? (await apiUrlOf(config))
  }
  try {
    return httpOrigin(given)
  } catch (error) {
    throw new InputError(`--url ${JSON.stringify(given)}: ${(error as Error).message}`)
  }
}

function addList(source: Command, context: CliContext): void {
  addSubcommand(source, 'list <tenant>', 'list the sources of a tenant and their health, revoked ones too').action(
    async (tenant: string, options: SourceOptions, command: Command) => {
      const [found, pulls] = await manageTenants(context, command, async (admin, client) => {
        const sources = await admin.listSources(tenant)
        const [{ pullStatuses }, { ingest }] = await Promise.all([
          import('../../pipeline/sources/pulls/statuses.ts'),
          import('../../../pipelines/ingest.ts'),
        ])
        return [sources, await pullStatuses(client, ingest, sources)] as const
      })
      const [tools, counts] = await Promise.all([toolsByKind(), countsOf(context, tenant, command)])
      const known = knownCounts(context, counts)
      const reports = found.map((source) => sourceReport(source, tools.get(source.source.kind), known, Date.now()))
      if (options.json)
        return printJson(
          context.stdout,
          reports.map((report) => ({ ...report, tenant_id: tenant, pull: pulls.get(report.source_id) ?? null })),
        )
      printReports(
        context,
        reports.map((report) => ({ ...report, last_used: pulls.get(report.source_id)?.last_run ?? report.last_used })),
      )
      for (const [id, pull] of pulls) for (const line of pullText(id, pull)) printLine(context.stdout, line)
    },
  )
}

function printReports(context: CliContext, reports: readonly ListedSource[]): void {
  const rows = reports.map(({ today, findings, state, ...report }) => [
    ...[report.source_id, report.kind, report.name, report.address, report.created_at, report.last_used],
    ...[today?.received, today?.filtered, today?.without_address, today?.rejected],
    state === 'attention' ? findings.map(({ kind }) => kind).join(' ') : state,
  ])
  const headings = [
    'SOURCE',
    'KIND',
    'NAME',
    'ADDRESS',
    'CREATED',
    'LAST USED',
    'TODAY',
    'FILTERED',
    'NO ADDRESS',
    'REJECTED',
    'HEALTH',
  ]
  printTable(context.stdout, headings, rows)
  printHealth(context, reports)
}

function printHealth({ stdout }: CliContext, reports: readonly ListedSource[]): void {
  const lines = reports.flatMap(healthLines)
  if (lines.length > 0) printLines(stdout, `\n${lines.join('\n')}\n`)
}

/** Prints why there are no counts. */
function knownCounts({ stderr }: CliContext, counts: ReadonlyMap<string, SourceCounts> | string) {
  if (typeof counts !== 'string') return counts
  printLine(stderr, `ipid: without health: ${counts}`)
  return undefined
}

/** Counts of the tenant's sources by id, or why there are none. */
async function countsOf(
  context: CliContext,
  tenant: string,
  command: Command,
): Promise<ReadonlyMap<string, SourceCounts> | string> {
  const [
    { asInstance, clickhouseUrlOf },
    { connectClickHouse, DATABASE, givenUp },
    { readSourceCounts },
    { unavailable },
  ] = await Promise.all([
    import('../../terminal/instance.ts'),
    import('../../stores/clickhouse/client.ts'),
    import('../sources/counts.ts'),
    import('../../stores/clickhouse/failures.ts'),
  ])
  let client: ReturnType<typeof connectClickHouse> | undefined
  try {
    const url = await clickhouseUrlOf(await asInstance(configOf(context, command)))
    client = connectClickHouse(url, { application: 'cli', database: DATABASE, requestTimeoutMs: COUNTS_MS })
    return await readSourceCounts(client, tenant, Date.now(), givenUp(COUNTS_MS / 1_000))
  } catch (error) {
    return error instanceof StartupError ? error.message : unavailable(error).message
  } finally {
    await client?.close()
  }
}

/** The state of a pull, in a few lines. */
function pullText(id: string, pull: PullStatus): string[] {
  const { objects, refused, lines, rejected, next_run: next, last_error: error, past } = pull
  const also = [
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(rejected > 0 ? [`${rejected} lines rejected`] : []),
    ...(next === null ? [] : [`next run ${next}`]),
  ]
  return [
    '',
    `${id} ${pull.text}`,
    `  ${pull.place}: ${[`${numbered(objects, 'object')}, ${numbered(lines, 'line')}`, ...also].join(', ')}`,
    ...(past === null ? [] : [`  still to fetch: ${past}`]),
    ...(error === null ? [] : [`  last error, ${error.at}: ${error.message}`]),
  ]
}

function addSet(source: Command, context: CliContext): void {
  addJsonOptions(addSubcommand(source, 'set <source>', 'change a source; in force at once', SEALING_SETTINGS))
    .addOption(addressOption())
    .option('--name <text>', 'name for people')
    .option(
      '--secret',
      'new secrets, from the environment or the terminal. http: VERCEL_DRAIN_SECRET; s3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; amplitude-export: AMPLITUDE_API_KEY and AMPLITUDE_SECRET_KEY',
    )
    .action(async (id: string, { address, name, secret, json, ...others }: SourceOptions, command: Command) => {
      if (!(address || name || secret || others.map || others.preset || others.verify || others.all !== undefined)) {
        command.error('nothing to set: give --address, --name, --map, --preset, --verify, --all or --secret')
      }
      const change = { ...(address && { address }), ...(name && { name }) }
      const changed = await manageTenants(context, command, async (admin, client) => {
        const known = await admin.getSource(id)
        const { tool, pull } = await sourceOfKind(known.source.kind)
        if (address !== undefined) assertAddressCounts(tool, known.source.kind)
        const facts = { ...change, ...jsonFacts(tool!, others) }
        if (!secret) {
          const forgets = losesSecret(known.source, facts)
          if (forgets) printLine(context.stderr, 'ipid: its signature secret is forgotten, as nothing checks it now')
          return await admin.setSource(id, { ...facts, ...(forgets && { secret: '' }) })
        }
        if (pull !== undefined) {
          const { newSecrets } = await import('../../pipeline/sources/pulls/commands/create.ts')
          const sealed = await newSecrets(pull, known, await sealingConfig(context, command), context)
          const set = await admin.setSource(id, { ...facts, secret: sealed })
          // The next run after failures may start only in an hour.
          const { askRun } = await import('../../pipeline/sources/pulls/commands/ask.ts')
          if (known.source.pull?.paused !== true) await askRun(client, admin, id, undefined)
          return set
        }
        const config = await sealingConfig(context, command)
        const sealed = await drainSecret(tool!, { ...known.source, ...facts }, config, context)
        return await admin.setSource(id, { ...facts, secret: sealed(id) })
      })
      printSource(context, changed, json)
    })
}

function addRun(source: Command, context: CliContext): void {
  addSubcommand(source, 'run <source>', 'fetch a source now, where the role batch runs; its schedule stays')
    .option(
      '--from <day>',
      'also fetch the past since this UTC day, YYYY-MM-DD; data that was fetched before is left out',
    )
    .action(async (id: string, { from, json }: SourceOptions, command: Command) => {
      const { askRun, readPastDay } = await import('../../pipeline/sources/pulls/commands/ask.ts')
      const day = from === undefined ? undefined : readPastDay(from)
      printSource(
        context,
        await manageTenants(context, command, (admin, client) => askRun(client, admin, id, day)),
        json,
      )
    })
}

function addPauseAndResume(source: Command, context: CliContext): void {
  for (const [verb, about] of [
    ['pause', 'stop fetching a source, after the job in progress'],
    ['resume', 'fetch a paused source again'],
  ] as const) {
    addSubcommand(source, `${verb} <source>`, about).action(
      async (id: string, { json }: SourceOptions, command: Command) => {
        const { setPaused } = await import('../../pipeline/sources/pulls/commands/ask.ts')
        printSource(
          context,
          await manageTenants(context, command, (admin) => setPaused(admin, id, verb === 'pause')),
          json,
        )
      },
    )
  }
}

function addRevoke(source: Command, context: CliContext): void {
  addSubcommand(source, 'revoke <source>', 'revoke the key of a source for ever').action(
    async (id: string, { json }: SourceOptions, command: Command) => {
      const revoked = await manageTenants(context, command, (admin) => admin.revokeSource(id))
      if (json) return printJson(context.stdout, sourceJson(revoked))
      printPairs(context.stdout, [
        ['source', revoked.prefix],
        ['tenant', revoked.tenantId],
        ['revoked', revoked.revokedAt],
      ])
    },
  )
}

function printSource(context: CliContext, found: StoredSource, json = false): void {
  if (json) {
    printJson(context.stdout, sourceJson(found))
    return
  }
  printPairs(context.stdout, pairsOf(found))
}

async function sourceOfKind(kind: string): Promise<Source> {
  const { ingest } = await import('../../../pipelines/ingest.ts')
  const kinds = ingest.sources.map(({ from }) => from).filter(({ tool }) => tool !== undefined)
  const found = kinds.find(({ name }) => name === kind)
  if (found !== undefined) return found
  throw new InputError(`unknown kind ${JSON.stringify(kind)}: there are ${kinds.map(({ name }) => name).join(', ')}`)
}

async function toolsByKind(): Promise<ReadonlyMap<string, SourceTool>> {
  const { ingest } = await import('../../../pipelines/ingest.ts')
  return new Map(ingest.sources.flatMap(({ from: { name, tool } }) => (tool === undefined ? [] : [[name, tool]])))
}

function addressOption(): Option {
  const about = 'where the addresses of its events come from: the payload, the connection, or auto (by the sender)'
  return new Option(`--address <${SOURCE_ADDRESSES.join('|')}>`, about).choices(SOURCE_ADDRESSES)
}

function pairsOf({ prefix, tenantId, source }: StoredSource): (readonly [string, string])[] {
  return [
    ['source', prefix],
    ['kind', source.kind],
    ['tenant', tenantId],
    ['address', source.address],
    ...(source.browser_key ? [['browser key', source.browser_key] as const] : []),
    ...(source.preset ? [['preset', source.preset] as const] : []),
    ...Object.entries(source.map ?? {}).map(([field, path]) => ['map', `${field}=${path}`] as const),
    ...(source.all ? [['requests', 'all'] as const] : []),
  ]
}

function sourceJson({ prefix, tenantId, source, createdAt, lastUsed, revokedAt }: StoredKey): object {
  return {
    source_id: prefix,
    kind: source?.kind,
    tenant_id: tenantId,
    name: source?.name ?? null,
    address: source?.address,
    ...(source?.preset && { preset: source.preset }),
    ...(source?.map && { map: source.map }),
    ...(source?.all && { all: true }),
    created_at: createdAt,
    last_used: lastUsed ?? null,
    revoked_at: revokedAt ?? null,
  }
}
