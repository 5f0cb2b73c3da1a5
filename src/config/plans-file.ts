import { readFileSync } from 'node:fs'
import { DEFAULT_PLANS, type Plan, type Plans } from '../../schemas/plans.ts'
import { InputError } from '../run/errors.ts'

const FIELDS = ['rate', 'burst', 'daily_lookups', 'monthly_accounts'] as const
const NAME = /^[a-z0-9-]{1,64}$/

/**
 * The default plans, with those of a file added or overridden: `{"name": {"rate", "burst", "daily_lookups",
 * "monthly_accounts"}}`. An existing plan keeps the fields that the file does not name.
 * @param path undefined: the default plans alone
 * @throws InputError that names the error in the file
 */
export function readPlans(path: string | undefined): Plans {
  const plans = new Map(Object.entries(DEFAULT_PLANS))
  if (path === undefined) return plans
  for (const [name, value] of Object.entries(readObject(path))) {
    if (!NAME.test(name)) throw new InputError(`plan ${JSON.stringify(name)}: the name must consist of a-z, 0-9 and -`)
    plans.set(name, readPlan(name, value, plans.get(name)))
  }
  return plans
}

function readObject(path: string): object {
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch (error) {
    throw new InputError(`must be a file that can be read (${(error as NodeJS.ErrnoException).code})`)
  }
  let value: unknown
  try {
    value = JSON.parse(content)
  } catch (error) {
    throw new InputError(`must be JSON (${(error as Error).message.split('\n')[0]})`)
  }
  if (!isObject(value)) throw new InputError('must be an object of plans')
  return value
}

function readPlan(name: string, value: unknown, base: Plan | undefined): Plan {
  if (!isObject(value)) throw new InputError(`plan ${name} must be an object`)
  const stranger = Object.keys(value).find((key) => !FIELDS.some((field) => field === key))
  if (stranger !== undefined) throw new InputError(`plan ${name} has the unknown field ${JSON.stringify(stranger)}`)
  const given = value as Partial<Record<(typeof FIELDS)[number], unknown>>
  const number = (field: (typeof FIELDS)[number], min: number, whole: boolean): number => {
    const found = given[field] ?? base?.[field]
    if (typeof found === 'number' && found >= min && found <= 1e12 && (!whole || Number.isInteger(found))) return found
    throw new InputError(`plan ${name}: ${field} must be a ${whole ? 'whole ' : ''}number, at least ${min}`)
  }
  return {
    rate: number('rate', 0.001, false),
    burst: number('burst', 1, true),
    daily_lookups: number('daily_lookups', 0, true),
    monthly_accounts: number('monthly_accounts', 0, true),
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
