import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const JOURNAL_MS = 20_000
const BYTES_MAX = 32 * 2 ** 20

/**
 * The last lines of a service's log in the journal of systemd.
 * @throws Error with the reason and where else the log may be
 */
export async function journalOf(service: string, linesMax: number, path: string | undefined): Promise<string[]> {
  const elsewhere = 'ipid writes its log to standard error; give a file of it with --log'
  const args = ['-u', `${service}.service`, '-n', String(linesMax), '-o', 'cat', '--no-pager', '-q']
  const options = { timeout: JOURNAL_MS, maxBuffer: BYTES_MAX, env: { PATH: path } }
  let printed: string
  try {
    printed = (await promisify(execFile)('journalctl', args, options)).stdout
  } catch (error) {
    const { code, stderr = '' } = error as { readonly code?: unknown; readonly stderr?: string }
    const reason = code === 'ENOENT' ? 'there is no journalctl' : stderr.trim().split('\n').at(-1) || 'it failed'
    throw new Error(`journalctl: ${reason}; ${elsewhere}`)
  }
  const lines = printed.split('\n').filter((line) => line !== '')
  if (lines.length === 0) throw new Error(`the journal has no line of ${service}.service; ${elsewhere}`)
  return lines
}
