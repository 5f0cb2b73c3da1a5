import { Command, Option } from 'commander'
import { SOURCE_ADDRESSES, type SourceFacts } from '../../../schemas/api-key.ts'
import type { Source } from '../../pipeline/declaration/source.ts'
import { InputError } from '../../run/errors.ts'
import type { CliContext } from '../../terminal/context.ts'
import { printJson, printLines, printPairs, printTable } from '../../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../terminal/settings-options.ts'
import type { TenantAdmin } from '../admin.ts'
import type { StoredKey, StoredSource } from '../stores.ts'

interface SourceOptions {
  readonly name?: string
  readonly address?: SourceFacts['address']
  readonly url?: string
  readonly json?: boolean
}

/** `ipid source create|list|set|revoke` */
export function sourceCommand(context: CliContext): Command {
  const source = new Command('source').description('manage sources: keys that only send events of one tool')

  subcommand('create <tenant> <kind>', 'create a source; its key is shown this once, with the text to paste')
    .option('--name <text>', 'name for people')
    .option('--url <url>', 'address of the API as the sender sees it (default: that of the running instance)')
    .addOption(addressOption())
    .action(async (tenant: string, kind: string, options: SourceOptions, command: Command) => {
      const { tool } = await sourceOfKind(kind)
      const base = options.url ?? (await instanceUrl(command))
      const { name, address = 'auto' } = options
      const created = await manage(command, (admin) =>
        admin.createSource(tenant, { kind, address, ...(name && { name }) }),
      )
      const { id, key, createdAt } = created
      const [url, setup] = [base + tool!.path(key), tool!.setup(base, key)]
      if (options.json) {
        printJson(context.stdout, { source_id: id, kind, tenant_id: tenant, key, url, setup, created_at: createdAt })
        return
      }
      printPairs(context.stdout, [
        ['source', id],
        ['kind', kind],
        ['tenant', tenant],
        ['key', key],
        ['url', url],
        ['created', createdAt],
      ])
      printLines(context.stdout, `\n${setup.trimEnd()}`)
    })

  subcommand('list <tenant>', 'list the sources of a tenant, revoked ones too').action(
    async (tenant: string, options: SourceOptions, command: Command) => {
      const found = await manage(command, (admin) => admin.listSources(tenant))
      if (options.json) return printJson(context.stdout, found.map(sourceJson))
      const rows = found.map(({ prefix, source: { kind, name, address }, createdAt, lastUsed, revokedAt }) => [
        ...[prefix, kind, name, address, createdAt, lastUsed, revokedAt],
      ])
      printTable(context.stdout, ['SOURCE', 'KIND', 'NAME', 'ADDRESS', 'CREATED', 'LAST USED', 'REVOKED'], rows)
    },
  )

  subcommand('set <source>', 'change a source; in force at once')
    .addOption(addressOption())
    .option('--name <text>', 'name for people')
    .action(async (id: string, { address, name, json }: SourceOptions, command: Command) => {
      const change = { ...(address && { address }), ...(name && { name }) }
      if (Object.keys(change).length === 0) command.error('nothing to set: give --address or --name')
      printSource(await manage(command, (admin) => admin.setSource(id, change)), json)
    })

  subcommand('revoke <source>', 'revoke the key of a source for ever').action(
    async (id: string, { json }: SourceOptions, command: Command) => {
      const revoked = await manage(command, (admin) => admin.revokeSource(id))
      if (json) return printJson(context.stdout, sourceJson(revoked))
      printPairs(context.stdout, [
        ['source', revoked.prefix],
        ['tenant', revoked.tenantId],
        ['revoked', revoked.revokedAt],
      ])
    },
  )

  function printSource(found: StoredSource, json = false): void {
    if (json) {
      printJson(context.stdout, sourceJson(found))
      return
    }
    printPairs(context.stdout, [
      ['source', found.prefix],
      ['kind', found.source.kind],
      ['tenant', found.tenantId],
      ['address', found.source.address],
    ])
  }

  function subcommand(usage: string, about: string): Command {
    return addSettings(source.command(usage).description(about).option('--json', 'print JSON'), INSTANCE_SETTINGS)
  }

  async function instanceUrl(command: Command): Promise<string> {
    const [{ readInstance }, { trustedDataDir }] = await Promise.all([
      import('../../terminal/instance.ts'),
      import('../../embedded/processes/data-dir.ts'),
    ])
    const url = readInstance(trustedDataDir(configOf(context, command).dataDir))?.url
    if (url === undefined) throw new InputError('no instance runs here: give the address of the API with --url')
    return url
  }

  async function manage<T>(command: Command, use: (admin: TenantAdmin) => Promise<T>): Promise<T> {
    const config = configOf(context, command)
    const { withTenants } = await import('../../terminal/stores.ts')
    return await withTenants(config, use)
  }

  return source
}

async function sourceOfKind(kind: string): Promise<Source> {
  const { ingest } = await import('../../../pipelines/ingest.ts')
  const kinds = ingest.sources.map(({ from }) => from).filter(({ tool }) => tool !== undefined)
  const found = kinds.find(({ name }) => name === kind)
  if (found !== undefined) return found
  throw new InputError(`unknown kind ${JSON.stringify(kind)}: there are ${kinds.map(({ name }) => name).join(', ')}`)
}

function addressOption(): Option {
  const about = 'where the addresses of its events come from: the payload, the connection, or what fits the sender'
  return new Option(`--address <${SOURCE_ADDRESSES.join('|')}>`, about).choices(SOURCE_ADDRESSES)
}

function sourceJson({ prefix, tenantId, source, createdAt, lastUsed, revokedAt }: StoredKey): object {
  return {
    source_id: prefix,
    kind: source?.kind,
    tenant_id: tenantId,
    name: source?.name ?? null,
    address: source?.address,
    created_at: createdAt,
    last_used: lastUsed ?? null,
    revoked_at: revokedAt ?? null,
  }
}
