import type { Command } from 'commander'
import type { SourceFacts } from '../../../../../schemas/api-key.ts'
import type { Config } from '../../../../config/config.ts'
import { InputError } from '../../../../run/errors.ts'
import { SecretBox } from '../../../../secrets/secret-box.ts'
import type { CliContext } from '../../../../terminal/context.ts'
import { askSecret } from '../../../../terminal/secret.ts'
import type { SourceTool } from '../../../declaration/source.ts'
import { MAPPED_FIELDS } from '../../mapped-fields.ts'
import { parseMapping } from '../../mapping.ts'
import { PRESETS, SIGNING_PRESET } from '../presets.ts'

/** Options of `source create` and `source set` for sources that take any JSON. */
export interface JsonOptions {
  readonly map?: readonly string[]
  readonly preset?: string
  readonly verify?: string
  readonly all?: boolean
}

const NONE = 'none'
/** A code becomes the value of a header. */
const CODE = /^[\x21-\x7e]{1,200}$/

export function addJsonOptions(command: Command): Command {
  return command
    .option(
      '--map <name=path>',
      `http: take a field of events from a place in the JSON, like ip=client.address or url=https://{host}{path}; may be repeated; fields: ${MAPPED_FIELDS.join(', ')}`,
      (value: string, before: readonly string[] = []) => [...before, value],
    )
    .option('--preset <name>', `http: the sender of the logs: ${PRESETS.map(({ name }) => name).join(', ')}`)
    .option('--verify <code>', 'http: code by which Vercel recognises the endpoint as yours')
    .option('--all', 'http: store all requests of logs, not only page views')
    .option('--no-all', 'http: store page views only, as is the default')
}

/**
 * The facts that the options set. `none` removes a mapping, preset or code.
 * @throws InputError
 */
export function jsonFacts(
  tool: SourceTool,
  { map, preset, verify, all }: JsonOptions,
): Pick<SourceFacts, 'map' | 'preset' | 'verify' | 'all'> {
  const { presets } = tool
  const given = Object.entries({ map, preset, verify, all }).find(([, value]) => value !== undefined)
  if (presets === undefined) {
    if (given !== undefined) throw new InputError(`--${given[0]} is not an option of this kind`)
    return {}
  }
  const names = [...presets.map(({ name }) => name), NONE]
  if (preset !== undefined && !names.includes(preset)) {
    throw new InputError(`there is no preset ${JSON.stringify(preset)}: give one of ${names.join(', ')}`)
  }
  if (verify !== undefined && !CODE.test(verify)) {
    throw new InputError('--verify: a code has 1 to 200 printable characters and no blanks')
  }
  return {
    ...(map !== undefined && { map: { ...(map.length === 1 && map[0] === NONE ? {} : parseMapping(map)) } }),
    ...(preset !== undefined && { preset: preset === NONE ? '' : preset }),
    ...(verify !== undefined && { verify: verify === NONE ? '' : verify }),
    ...(all !== undefined && { all }),
  }
}

const SECRET_VARIABLE = 'VERCEL_DRAIN_SECRET'

/**
 * The signature secret of a Vercel drain: a function that encrypts it for a source. Reads it from the environment, or asks for it.
 * @param facts of the source, with the options of this command
 * @throws InputError also when nothing would check the secret
 */
export async function drainSecret(
  tool: SourceTool,
  { preset }: Pick<SourceFacts, 'preset'>,
  config: Config,
  context: CliContext,
): Promise<(sourceId: string) => string> {
  if (tool.presets === undefined) throw new InputError('--secret is not an option of this kind')
  if (preset !== SIGNING_PRESET) {
    const has = preset ? `--preset ${preset}` : 'no preset'
    throw new InputError(
      `--secret: only sources with --preset ${SIGNING_PRESET} have signed bodies, and this one has ${has}`,
    )
  }
  const secret = context.env[SECRET_VARIABLE] || (await askSecret('Signature secret of the drain: ', context)) || ''
  if (secret === '') throw new InputError(`the secret is needed: set ${SECRET_VARIABLE}, or answer in a terminal`)
  const box = new SecretBox(config)
  return (sourceId) => box.seal(secret, sourceId)
}

/** Whether a change leaves a source a secret that nothing checks any more. */
export function losesSecret({ secret }: SourceFacts, { preset }: Pick<SourceFacts, 'preset'>): boolean {
  return Boolean(secret) && preset !== undefined && preset !== SIGNING_PRESET
}
