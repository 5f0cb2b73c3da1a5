import { mkdir } from 'node:fs/promises'
import { Command } from 'commander'
import { type Config, readConfig, type Flags as SettingFlags, sourcesDirOf } from '../../config/config.ts'
import type { SettingName } from '../../config/settings.ts'
import type { CliContext } from '../../terminal/context.ts'
import { addSettings } from '../../terminal/settings-options.ts'

/** Without ENRICH_DIR the folder is under DATA_DIR. */
const SOURCES_SETTINGS: readonly SettingName[] = ['enrichDir', 'dataDir']

/** The settings of these commands. Checks that combine other settings are skipped. */
const DATA_SETTINGS: readonly SettingName[] = ['enrichDir', 'dataDir', 'defaultData']

interface Flags {
  readonly enrichDir?: string
  readonly json?: boolean
}

interface DataFlags extends Flags {
  readonly dataDir?: string
  readonly defaultData?: string
}

interface CompileFlags extends DataFlags {
  readonly table?: string
  readonly defaults?: boolean
  readonly urgent?: boolean
}

interface BuildFlags extends Flags {
  readonly output: string
  readonly asn?: string
}

interface UpdateFlags extends DataFlags {
  readonly due?: boolean
}

/** `ipid db …`: the data files, without a server. */
export function dbCommand(context: CliContext, setExitCode: (code: number) => void): Command {
  const command = new Command('db').helpCommand(false)
  const dirOf = async ({ enrichDir }: Flags) => (await followed(configOfData(context, { enrichDir }))).enrichDir
  const sourcesOf = async ({ enrichDir, dataDir }: DataFlags) =>
    sourcesDirOf(await followed(configOfData(context, { enrichDir, dataDir })))
  const add = (child: Command) => command.addCommand(child.option('--json', 'print JSON'))

  add(
    addSettings(new Command('list').description('list the providers in their order of trust'), DATA_SETTINGS).action(
      async (flags: DataFlags) => {
        const { listProviders } = await import('./list.ts')
        const { json, ...settings } = flags
        const config = await followed(configOfData(context, settings))
        await listProviders({ config, json: json === true, nowMs: Date.now() }, context)
      },
    ),
  )
  add(
    addSettings(
      new Command('check')
        .description('show the format of each file in a folder; exit code 1 when one is broken')
        .argument('[dir]', 'the folder (ENRICH_DIR)'),
      ['enrichDir'],
    ).action(async (dir: string | undefined, flags: Flags) => {
      const { checkFolder } = await import('./check.ts')
      setExitCode(await checkFolder(dir ?? (await dirOf(flags)), flags.json === true, context))
    }),
  )
  add(
    addSettings(
      new Command('build')
        .description('compile organisation tables into an MMDB that any MaxMind reader opens')
        .argument('<table...>', '.csv or .ndjson, plain or .gz; for one network, the last row wins')
        .requiredOption('-o, --output <file>', 'the MMDB to write')
        .option('--asn <file>', 'MMDB with AS numbers, for rows about them (default: the best one in ENRICH_DIR)'),
      ['enrichDir'],
    ).action(async (tables: string[], flags: BuildFlags) => {
      const { buildMmdb } = await import('./build.ts')
      const { output, asn, json } = flags
      await buildMmdb({ tables, output, asn, enrichDir: await dirOf(flags), json: json === true }, context)
    }),
  )
  add(
    addSettings(
      new Command('update')
        .description('fetch the sources of sources.json in the folder; exit code 1 when a source fails')
        .option('--due', 'fetch only sources that are due by their schedule'),
      SOURCES_SETTINGS,
    ).action(async (flags: UpdateFlags) => {
      const { updateFolder } = await import('./update.ts')
      endWithParent()
      const dir = await sourcesOf(flags)
      setExitCode(await updateFolder({ dir, due: flags.due === true, json: flags.json === true }, context))
    }),
  )
  add(
    addSettings(
      new Command('add')
        .description('add free data sources to sources.json in the folder; without names, list the known ones')
        .argument('[name...]', 'such as iptoasn, ipinfo-lite, dbip-lite, geolite2'),
      SOURCES_SETTINGS,
    ).action(async (names: string[], flags: DataFlags) => {
      const { addSources } = await import('./add.ts')
      if (names.length > 0 && flags.enrichDir !== undefined) await mkdir(flags.enrichDir, { recursive: true })
      await addSources({ names, dir: await sourcesOf(flags), json: flags.json === true }, context)
    }),
  )
  command.addCommand(addSettings(compileCommand(context), ['enrichDir', 'dataDir', 'defaultData']), { hidden: true })
  return command
}

/** Uses the settings of a running local instance, if there is one. */
async function followed(config: Config): Promise<Config> {
  const { asInstance } = await import('../../terminal/instance.ts')
  return await asInstance(config)
}

function configOfData(context: CliContext, flags: SettingFlags): Config {
  return readConfig(context.env, flags, DATA_SETTINGS)
}

/** Lets a child of `ipid start` exit with its parent. */
function endWithParent(): void {
  if (process.connected) process.once('disconnect', () => process.exit(1))
}

/** Hidden: `ipid start` runs it as a child. */
function compileCommand(context: CliContext): Command {
  const command = new Command('compile')
    .option('--table <file>', 'compile only this table of the folder')
    .option('--defaults', 'make only the default data sets')
    .option('--urgent', 'run at full priority')
  return command.action(async ({ table, defaults, urgent, ...settings }: CompileFlags) => {
    const { compileData } = await import('./compile.ts')
    endWithParent()
    await compileData(
      configOfData(context, settings),
      { table, defaults: defaults === true, isUrgent: urgent === true },
      context,
    )
  })
}
