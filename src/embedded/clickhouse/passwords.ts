import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { StartupError } from '../../run/errors.ts'
import { writePrivateFile } from '../../run/private-file.ts'
import { EMBEDDED_USER } from '../../stores/clickhouse/failed-writes.ts'

/** The user of people and their tools. */
export const ANALYST = 'analyst'

/** The passwords of the users of the embedded ClickHouse. */
export interface Passwords {
  /** Password of ipid's own processes. */
  readonly own: string
  /** Password of people and their tools. */
  readonly analyst: string
}

/** 192 bits, in characters that URLs and shells do not change. */
const BYTES = 24

const isPassword = (value: unknown): value is string => typeof value === 'string' && /^[\w-]{20,}$/.test(value)

/**
 * Reads the passwords, or makes them at the first start. Only the owner can read the file (mode 0600).
 * @param file JSON, `{"own": …, "analyst": …}`
 * @throws StartupError when the file cannot be used
 */
export function keptPasswords(file: string): Passwords {
  const found = readIfThere(file)
  // A power failure may leave an empty file.
  if (found === undefined || found === '') return newPasswords(file)
  try {
    const { own, analyst } = (JSON.parse(found) ?? {}) as Partial<Passwords>
    if (isPassword(own) && isPassword(analyst)) return { own, analyst }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new StartupError(
    `${file} must have "own" and "analyst", each of 20 or more letters, digits, - or _. Remove it: the next start makes new passwords`,
  )
}

/** Random passwords, for tests and for servers that keep nothing. */
export function randomPasswords(): Passwords {
  return { own: randomPassword(), analyst: randomPassword() }
}

function newPasswords(file: string): Passwords {
  const made = randomPasswords()
  try {
    writePrivateFile(file, `${JSON.stringify(made)}\n`)
  } catch (error) {
    throw new StartupError(`cannot write the passwords of the embedded ClickHouse: ${(error as Error).message}`)
  }
  return made
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new StartupError(`cannot read the passwords of the embedded ClickHouse: ${(error as Error).message}`)
  }
}

function randomPassword(): string {
  return randomBytes(BYTES).toString('base64url')
}

/** The address for ipid's own processes. */
export function ownUrlOf(port: number, { own }: Passwords): string {
  return `http://${EMBEDDED_USER}:${own}@127.0.0.1:${port}`
}

/** The address for people and their tools. */
export function analystUrlOf(port: number, { analyst }: Passwords): string {
  return `http://${ANALYST}:${analyst}@127.0.0.1:${port}`
}

/** ClickHouse's stored form of a password. */
export function sha256Of(password: string): string {
  return createHash('sha256').update(password).digest('hex')
}
