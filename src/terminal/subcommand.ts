import type { Command } from 'commander'
import type { SettingName } from '../config/settings.ts'
import type { RedisClient } from '../stores/redis/connect.ts'
import type { TenantAdmin } from '../tenants/admin.ts'
import type { CliContext } from './context.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from './settings-options.ts'

/** Adds a subcommand that can print JSON and finds the running instance by flags of `settings`. */
export function addSubcommand(
  parent: Command,
  usage: string,
  about: string,
  settings: readonly SettingName[] = INSTANCE_SETTINGS,
): Command {
  return addSettings(parent.command(usage).description(about).option('--json', 'print JSON'), settings)
}

/** Runs `use` with the tenants of the instance that the command's settings name. Loads the stores only then. */
export async function manageTenants<T>(
  context: CliContext,
  command: Command,
  use: (admin: TenantAdmin, client: RedisClient) => Promise<T>,
): Promise<T> {
  const config = configOf(context, command)
  const { withTenants } = await import('./stores.ts')
  return await withTenants(config, use)
}
