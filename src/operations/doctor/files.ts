import { constants } from 'node:fs'
import { lstat, readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Config, usesSecret } from '../../config/config.ts'
import { isFull, spaceOf } from '../../run/free-space.ts'
import { readKeyFile, secretsKeyFile } from '../../secrets/secret-box.ts'
import { bytesText } from '../status/words.ts'
import { type Finding, findingsOf, type Subject } from './finding.ts'
import { may, nearest, statIfThere } from './paths.ts'
import { problemOf, SkippedError } from './run-checks.ts'

const { R_OK, W_OK, X_OK } = constants
const GIB = 2 ** 30
/** A day of a busy tenant, and the copies of a merge or of a rewrite of Redis' file. */
const FREE_BYTES_WISE = 5 * GIB
const SHOWN_MAX = 3

/** File systems over a network, by their numbers in statfs(2). */
const REMOTE: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x517b, 'SMB'],
  [0x65735546, 'FUSE'],
  [0x00c36400, 'Ceph'],
])

/** Owner and rights of DATA_DIR and its content, its file system and its free space. */
export async function checkDataDir({ dir, config }: Subject): Promise<Finding[]> {
  // Another finding says why.
  if (dir === undefined) throw new SkippedError('its contents cannot be trusted')
  const { problem, fine } = findingsOf('data-dir')
  const found = await statIfThere(dir.path)
  if (found === undefined) {
    const parent = await nearest(dirname(dir.path))
    const why = 'ipid keeps everything there, and does not start without it.'
    if (!(await may(parent, W_OK | X_OK))) {
      return [problem(`${dir.path} cannot be created in ${parent}`, why, remedyFor(parent))]
    }
    return [fine(`${dir.path} does not exist yet, and can be created`), ...(await checkSpace(parent))]
  }
  const closed = await closedIn(dir.path)
  const rights =
    closed.length === 0
      ? [fine(`${config.dataDir} is private and writable`)]
      : [
          problem(
            `this user cannot change ${listOf(closed)}`,
            'Stores do not start on files that they cannot write.',
            remedyFor(dir.path),
          ),
        ]
  return [...rights, ...(await checkSpace(dir.path))]
}

function listOf(paths: readonly string[]): string {
  const more = paths.length - SHOWN_MAX
  return `${paths.slice(0, SHOWN_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function remedyFor(path: string): string {
  const user = process.getuid === undefined ? '$(id -u)' : `${process.getuid()}:${process.getgid!()}`
  return `sudo chown -R ${user} ${path}, run ipid as the user who owns it, or set DATA_DIR to another folder`
}

/** Files and folders that this user cannot read and write, two levels deep. A start by another user leaves them. */
async function closedIn(folder: string, depth = 2): Promise<string[]> {
  if (!(await may(folder, R_OK | W_OK | X_OK))) return [folder]
  const found: string[] = []
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const kind = await lstat(path).catch(() => undefined)
    if (kind?.isDirectory() && depth > 0) found.push(...(await closedIn(path, depth - 1)))
    else if (kind?.isFile() && !(await may(path, R_OK | W_OK))) found.push(path)
  }
  return found
}

async function checkSpace(folder: string): Promise<Finding[]> {
  const { problem, risk, fine } = findingsOf('disk')
  const { type, ffree, files } = await statfs(folder)
  const space = spaceOf(folder)
  const { free_bytes: free, total_bytes: total } = space
  const seen = `${bytesText(free)} of ${bytesText(total)} are free for ${folder}`
  const remedy = 'free space on that disk, or set DATA_DIR to a folder on a larger one'
  const found: Finding[] = []
  const remote = REMOTE.get(type)
  if (remote !== undefined) {
    const why = 'A write that the server has not stored may count as stored, and locks of stores may not hold.'
    found.push(risk(`${folder} is on ${remote}`, why, 'set DATA_DIR to a folder on a local disk'))
  }
  if (files > 0 && ffree < files / 50) {
    found.push(
      risk(
        `${ffree} of ${files} files are left on the disk of ${folder}`,
        'Without one, stores refuse writes.',
        remedy,
      ),
    )
  }
  if (isFull(space))
    return [
      ...found,
      problem(`the disk is full: ${seen}`, 'ClickHouse refuses inserts and Redis soon refuses events.', remedy),
    ]
  if (free < FREE_BYTES_WISE) return [...found, risk(seen, 'When it is full, requests are answered 500.', remedy)]
  return [...found, fine(seen)]
}

/** The file of the key that encrypts secrets of sources, alerts and CRMs. */
export async function checkSecretsKey({ config, dir, running }: Subject): Promise<Finding[]> {
  const { risk, fine } = findingsOf('secrets-key')
  const isGiven = config.secretsKey !== undefined || (running !== undefined && config.given.includes('secretsKey'))
  if (isGiven) return [fine('SECRETS_KEY is set')]
  const roles = running?.started?.roles
  if (roles !== undefined && !usesSecret(roles, 'secretsKey')) return [fine(`not used by ${roles.join(', ')}`)]
  if (dir === undefined) throw new SkippedError('its contents cannot be trusted')
  const file = secretsKeyFile(config.dataDir)
  let key: Buffer | undefined
  try {
    key = readKeyFile(file)
  } catch (error) {
    return [problemOf('secrets-key', error as Error, 'Sources and alerts with secrets do not work.')]
  }
  if (isShared(config)) {
    const why = 'Other machines cannot read the secrets of sources, alerts and CRMs that this one encrypts.'
    const remedy = `set SECRETS_KEY to the same 64 digits everywhere (${key === undefined ? 'openssl rand -hex 32' : `those in ${file}`})`
    return [risk('the stores may be shared, and SECRETS_KEY is not set', why, remedy)]
  }
  if (key === undefined) return [fine('there is none yet; the first secret makes one')]
  const { mode, uid } = await stat(file)
  if ((mode & 0o077) !== 0 && uid === process.getuid?.()) {
    const seen = `${file} has mode ${(mode & 0o777).toString(8)}`
    return [risk(seen, 'Its group can read the key that protects all secrets.', `chmod 600 ${file}`)]
  }
  return [fine(`${file}, readable by its user only`)]
}

function isShared({ redisUrl }: Config): boolean {
  return redisUrl !== undefined && !/^unix:|:\/\/(?:[^@/]*@)?(?:localhost|127\.|\[::1\])/.test(redisUrl)
}
