import { Command } from 'commander'
import { isTestKey } from '../../../schemas/key-text.ts'
import type { CliContext } from '../../terminal/context.ts'
import { printJson, printPairs, printTable } from '../../terminal/print.ts'
import { addSubcommand, manageTenants } from '../../terminal/subcommand.ts'
import type { ApiKey } from '../tenancy.ts'

interface KeyOptions {
  readonly json?: boolean
  readonly test?: boolean
}

/** `ipid key create|list|revoke` */
export function keyCommand(context: CliContext): Command {
  const key = new Command('key')

  addSubcommand(key, 'create <tenant>', 'create a key; it is shown only once')
    .option('--test', 'a key for trying: events are checked, enriched and answered, and nothing is stored')
    .action(async (tenant: string, options: KeyOptions, command: Command) => {
      const created = await manageTenants(context, command, (admin) => admin.createKey(tenant, undefined, options.test))
      if (options.json) return printJson(context.stdout, created)
      printPairs(context.stdout, [
        ['key', created.key],
        ['prefix', created.prefix],
        ['tenant', created.tenant_id],
        ['created', created.created_at],
        ...(created.test ? [['for', 'trying: nothing that comes with it is stored'] as const] : []),
      ])
    })

  addSubcommand(key, 'list <tenant>', 'list the keys of a tenant, revoked ones included').action(
    async (tenant: string, options: KeyOptions, command: Command) => {
      const found = await manageTenants(context, command, (admin) => admin.listKeys(tenant))
      if (options.json) return printJson(context.stdout, found.map(keyJson))
      const rows = found.map(({ prefix, createdAt, madeBy, lastUsed, revokedAt }) => [
        ...[prefix, createdAt, madeBy?.name, lastUsed, revokedAt],
      ])
      printTable(context.stdout, ['PREFIX', 'CREATED', 'MADE BY', 'LAST USED', 'REVOKED'], rows)
    },
  )

  addSubcommand(key, 'revoke <prefix>', 'revoke a key for ever, by its prefix').action(
    async (prefix: string, options: KeyOptions, command: Command) => {
      const revoked = await manageTenants(context, command, (admin) => admin.revokeKey(prefix))
      if (options.json) return printJson(context.stdout, keyJson(revoked))
      printPairs(context.stdout, [
        ['prefix', revoked.prefix],
        ['tenant', revoked.tenantId],
        ['revoked', revoked.revokedAt],
      ])
    },
  )

  return key
}

function keyJson({ prefix, tenantId, createdAt, madeBy, lastUsed, revokedAt }: ApiKey): object {
  return {
    prefix,
    tenant_id: tenantId,
    test: isTestKey(prefix),
    created_at: createdAt,
    made_by: madeBy?.name ?? null,
    last_used: lastUsed ?? null,
    revoked_at: revokedAt ?? null,
  }
}
