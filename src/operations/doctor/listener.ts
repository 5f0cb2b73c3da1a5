import { execFile } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { promisify } from 'node:util'

const LSOF_MS = 2_000
/** State of a listening socket in /proc/net/tcp. */
const LISTENING = '0A'

/**
 * The program that listens on a TCP port of this machine: `nginx (process 812)`.
 * @returns undefined when this user may not see it
 */
export async function listenerOn(port: number): Promise<string | undefined> {
  try {
    return process.platform === 'linux' ? await fromProc(port) : await fromLsof(port)
  } catch {
    return undefined
  }
}

async function fromProc(port: number): Promise<string | undefined> {
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'latin1').catch(() => '')),
  )
  const hex = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = tables.flatMap((table) => table.split('\n').map((line) => line.trim().split(/\s+/)))
  const inodes = lines.flatMap(([, local, , state, , , , , , inode]) =>
    local?.endsWith(hex) && state === LISTENING && inode !== undefined ? [`socket:[${inode}]`] : [],
  )
  for (const pid of inodes.length === 0 ? [] : (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const files = await readdir(`/proc/${pid}/fd`).catch(() => [])
    const links = await Promise.all(files.map((file) => readlink(`/proc/${pid}/fd/${file}`).catch(() => '')))
    if (!links.some((link) => inodes.includes(link))) continue
    // Not its arguments, which may hold a password.
    return `${basename(await readlink(`/proc/${pid}/exe`))} (process ${pid})`
  }
  return undefined
}

async function fromLsof(port: number): Promise<string | undefined> {
  const args = ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc']
  const { stdout } = await promisify(execFile)('lsof', args, { timeout: LSOF_MS })
  const [pid, name] = ['p', 'c'].map((field) =>
    stdout
      .split('\n')
      .find((line) => line.startsWith(field))
      ?.slice(1),
  )
  return pid === undefined ? undefined : `${name} (process ${pid})`
}
