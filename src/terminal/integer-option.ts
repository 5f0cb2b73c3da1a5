import { Option } from 'commander'
import { integer } from '../config/values.ts'
import { InputError } from '../run/errors.ts'

const WAIT_SECONDS = 600
const WAIT_SECONDS_MAX = 86_400

/** `--wait SECONDS` for commands that wait for work in progress. */
export function waitOption(about: string): Option {
  return integerOption('wait', 'seconds', about, { least: 1, most: WAIT_SECONDS_MAX, otherwise: WAIT_SECONDS })
}

/** `--NAME VALUE` with a whole number. @param otherwise default: undefined */
export function integerOption(
  name: string,
  value: string,
  about: string,
  { least, most, otherwise }: { readonly least: number; readonly most: number; readonly otherwise?: number },
): Option {
  const read = integer(least, most)
  return new Option(`--${name} <${value}>`, about).default(otherwise).argParser((text) => {
    try {
      return read(text)
    } catch (error) {
      throw new InputError(`--${name} ${JSON.stringify(text)}: ${(error as Error).message}`)
    }
  })
}
