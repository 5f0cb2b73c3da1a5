import { type Command, Option } from 'commander'
import { type Config, type Flags, readConfig } from '../config/config.ts'
import type { Setting } from '../config/setting.ts'
import { flagOf, SETTINGS, type SettingName } from '../config/settings.ts'
import type { CliContext } from './context.ts'

/** The settings by which commands find a running instance. */
export const INSTANCE_SETTINGS: readonly SettingName[] = ['dataDir', 'redisUrl', 'clickhouseUrl', 'plansFile']

export const ALL_SETTINGS = Object.keys(SETTINGS) as SettingName[]

/** The settings that are flags of a command: it may have options of its own that are called like another one. */
const added = new WeakMap<Command, readonly SettingName[]>()
/** The same of settings that the pipeline declares. */
const addedOfPipeline = new WeakMap<Command, readonly Setting<unknown>[]>()

/** Gives a command a flag for each of these settings, with its default and its variable. */
export function addSettings(command: Command, names: readonly SettingName[]): Command {
  for (const name of names) command.addOption(optionOf(SETTINGS[name]))
  added.set(command, [...(added.get(command) ?? []), ...names])
  return command
}

/** Gives a command a flag for each setting that the pipeline's sources and sinks declare. */
export function addPipelineSettings(command: Command, settings: readonly Setting<unknown>[]): void {
  for (const setting of settings) command.addOption(optionOf(setting))
  addedOfPipeline.set(command, settings)
}

function optionOf(setting: Setting<unknown>): Option {
  const about = `${setting.about} (${setting.env}${setting.default === undefined ? '' : `, ${setting.default}`})`
  return new Option(`${flagOf(setting)} <${setting.value}>`, about)
}

/** Reads the configuration from the environment and from flags that `addSettings` and `addPipelineSettings` added. */
export function configOf(context: CliContext, command: Command): Config {
  // A command that has commands takes the options that it shares with them, wherever they stand.
  const options = command.optsWithGlobals<Record<string, string>>()
  const flags: { [Name in SettingName]?: string } = {}
  const names = added.get(command) ?? []
  for (const name of names) {
    const value = options[optionKey(flagOf(SETTINGS[name]))]
    if (value !== undefined) flags[name] = value
  }
  const settings = addedOfPipeline.get(command) ?? []
  const flagsOfPipeline = settings.flatMap((setting) => {
    const value = options[optionKey(flagOf(setting))]
    return value === undefined ? [] : [[setting.env, value] as const]
  })
  const pipeline = { settings, flags: Object.fromEntries(flagsOfPipeline) }
  return readConfig(context.env, flags satisfies Flags, names, pipeline)
}

/** `--data-dir` → `dataDir`, as commander does it. */
function optionKey(flag: string): string {
  return flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
}
