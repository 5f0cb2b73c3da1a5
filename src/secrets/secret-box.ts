import { createCipheriv, createDecipheriv, createHmac, hash, randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { StartupError } from '../run/errors.ts'

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16
/** Characters of a key's id, which says under which key a secret was encrypted. It reveals nothing of the key. */
const KEY_ID_CHARS = 8
const SEALED = /^v1:([0-9a-f]{8}):([A-Za-z0-9_-]+)$/
const KEY_TEXT = /^[0-9a-f]{64}$/
/** Other users of the machine. A mounted volume may give the file to a group. */
const OTHERS = 0o007

/** A secret cannot be decrypted. The message says why and what to do, as the end of a sentence about the secret. */
export class SecretError extends Error {
  override name = 'SecretError'
}

interface SecretBoxOptions {
  /** Holds `secrets.key`, which the first `seal` creates with mode 0600. */
  readonly dataDir: string
  /** 64 hexadecimal characters, in place of the file. */
  readonly secretsKey?: string | undefined
  /** Why nothing may be encrypted here: see `Config`. */
  readonly sealRefusal?: string | undefined
}

/**
 * Encrypts secrets of sources, alerts and CRMs, so that Redis and backups never have them in the clear (AES-256-GCM). The key lies in
 * DATA_DIR, which a backup does not copy, or in SECRETS_KEY.
 */
export class SecretBox {
  readonly #file: string
  readonly #given: Buffer | undefined
  readonly #refusal: string | undefined
  #cached: Buffer | undefined

  constructor({ dataDir, secretsKey, sealRefusal }: SecretBoxOptions) {
    this.#file = secretsKeyFile(dataDir)
    this.#refusal = sealRefusal
    this.#given = secretsKey === undefined ? undefined : Buffer.from(secretsKey, 'hex')
  }

  /**
   * Encrypts a text.
   * @param owner of the secret, for example the id of a source; only the same owner can open it
   * @throws StartupError when the key cannot be read or created, or the running instance has another one
   */
  seal(text: string, owner: string): string {
    if (this.#refusal !== undefined) throw new StartupError(this.#refusal)
    const key = this.#key() ?? this.#createKey()
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(owner))
    const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return `v1:${keyIdOf(key)}:${Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString('base64url')}`
  }

  /**
   * Decrypts the result of `seal`.
   * @throws SecretError when the key is missing or another one, or the secret is damaged or another owner's
   */
  open(sealed: string, owner: string): string {
    const [, keyId, data] = SEALED.exec(sealed) ?? []
    if (keyId === undefined || data === undefined)
      throw new SecretError('is stored in an unknown form: set it again with "source set ID --secret"')
    const bytes = Buffer.from(data, 'base64url')
    const key = this.#keyOf(keyId)
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
    try {
      decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
      return text.toString('utf8')
    } catch {
      throw new SecretError('is damaged: set it again with "source set ID --secret"')
    }
  }

  /**
   * A keyed digest of a text (HMAC-SHA-256), for recognising it without storing it: `KEYID:DIGEST`. Without the key the text cannot be found by
   * trying likely ones. A digest under another key has another id, and cannot be compared.
   * @param owner separates digests: those of the same text for two owners differ
   * @throws StartupError when the key cannot be read or created
   */
  digest(text: string, owner: string): string {
    const key = this.#key() ?? this.#createKey()
    const digest = createHmac('sha256', key)
      .update(JSON.stringify(['digest', owner, text]))
      .digest('base64url')
    return `${keyIdOf(key)}:${digest}`
  }

  #keyOf(keyId: string): Buffer {
    if (this.#cached !== undefined && keyIdOf(this.#cached) !== keyId) this.#cached = undefined
    const key = this.#key()
    const place = this.#given === undefined ? this.#file : 'SECRETS_KEY'
    const remedy = `set SECRETS_KEY to key ${keyId}, put its file back at ${this.#file}, or set the secret again with "source set ID --secret"`
    if (key === undefined) throw new SecretError(`is encrypted under key ${keyId}, and ${place} is missing: ${remedy}`)
    if (keyIdOf(key) === keyId) return key
    throw new SecretError(`is encrypted under key ${keyId}, but ${place} is key ${keyIdOf(key)}: ${remedy}`)
  }

  /** Undefined when there is none yet. @throws StartupError when others may have read or changed it */
  #key(): Buffer | undefined {
    this.#cached ??= this.#given ?? readKeyFile(this.#file)
    return this.#cached
  }

  /** Two processes may create it at once: the first link wins, and both use that one. */
  #createKey(): Buffer {
    const part = `${this.#file}.${process.pid}.part`
    try {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 })
      rmSync(part, { force: true })
      writeFileSync(part, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true })
      linkSync(part, this.#file)
      syncFolder(dirname(this.#file))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw new StartupError(`cannot create ${this.#file}: ${(error as Error).message}`)
      }
    } finally {
      rmSync(part, { force: true })
    }
    return this.#key()!
  }
}

/** The id of a key of 64 hexadecimal characters. It reveals nothing of the key. */
export function keyIdOfText(key: string): string {
  return keyIdOf(Buffer.from(key, 'hex'))
}

/** The id of the key in a DATA_DIR; undefined when there is none yet. @throws StartupError as `readKeyFile` */
export function keyIdOfFolder(dataDir: string): string | undefined {
  const key = readKeyFile(secretsKeyFile(dataDir))
  return key === undefined ? undefined : keyIdOf(key)
}

function keyIdOf(key: Buffer): string {
  return hash('sha256', `ipid key ${key.toString('hex')}`, 'hex').slice(0, KEY_ID_CHARS)
}

/** The file of the key, unless SECRETS_KEY replaces it. */
export function secretsKeyFile(dataDir: string): string {
  return join(dataDir, 'secrets.key')
}

/** @returns undefined when there is no file @throws StartupError when it is not a key, or others may have read or changed it */
export function readKeyFile(file: string): Buffer | undefined {
  let text: string
  try {
    if ((statSync(file).mode & OTHERS) !== 0) {
      throw StartupError.of(`every user can read ${file}`, 'chmod 600 it, and replace the secrets that it protects')
    }
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    if (error instanceof StartupError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new StartupError(`cannot read ${file}: ${(error as Error).message}`)
  }
  if (!KEY_TEXT.test(text)) throw new StartupError(`${file} is not a key: it must have 64 hexadecimal characters`)
  return Buffer.from(text, 'hex')
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
