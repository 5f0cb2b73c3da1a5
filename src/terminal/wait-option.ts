import { Option } from 'commander'
import { integer } from '../config/values.ts'
import { InputError } from '../run/errors.ts'

const WAIT_SECONDS = 600
const WAIT_SECONDS_MAX = 86_400

/** `--wait SECONDS` for commands that wait for work in progress. */
export function waitOption(about: string): Option {
  const read = integer(1, WAIT_SECONDS_MAX)
  return new Option('--wait <seconds>', about).default(WAIT_SECONDS).argParser((value) => {
    try {
      return read(value)
    } catch (error) {
      throw new InputError(`--wait ${JSON.stringify(value)}: ${(error as Error).message}`)
    }
  })
}
