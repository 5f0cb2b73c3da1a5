import { type Command, Option } from 'commander'
import { type Config, type Flags, readConfig, readWhatIsRight } from '../config/config.ts'
import type { Setting } from '../config/setting.ts'
import { flagOf, SETTINGS, type SettingName } from '../config/settings.ts'
import type { CliContext } from './context.ts'

/** The settings by which commands find a running instance. */
export const INSTANCE_SETTINGS: readonly SettingName[] = ['dataDir', 'redisUrl', 'clickhouseUrl', 'plansFile']

export const ALL_SETTINGS = Object.keys(SETTINGS) as SettingName[]

/** The settings that each command has as flags. A command may have an option of its own with the name of a setting. */
const added = new WeakMap<Command, readonly SettingName[]>()
/** The same of settings that the pipeline declares. */
const addedOfPipeline = new WeakMap<Command, readonly Setting<unknown>[]>()

/** Adds a flag for each of these settings, with its default and its variable. */
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
  const { flags, names, pipeline } = givenTo(command)
  return readConfig(context.env, flags, names, pipeline)
}

/** As `configOf`, but a wrong setting has its default, and a line in `problems`. */
export function rightConfigOf(context: CliContext, command: Command): ReturnType<typeof readWhatIsRight> {
  const { flags, pipeline } = givenTo(command)
  return readWhatIsRight(context.env, flags, pipeline)
}

function givenTo(command: Command) {
  // A parent command parses the options that it shares with its subcommands, wherever they are written.
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
  return { flags: flags satisfies Flags, names, pipeline: { settings, flags: Object.fromEntries(flagsOfPipeline) } }
}

/** `--data-dir` → `dataDir`, as commander does it. */
function optionKey(flag: string): string {
  return flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
}
