import { existsSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The wall around the process of the embedded ClickHouse. The process can open only its own folder and its program files, and
 * cannot connect to any TCP port. The kernel enforces it (Landlock, Linux 5.19; ports from 6.7), so it also stops functions and
 * settings that no right covers.
 *
 * Node.js has no Landlock API, so a short Perl script sets it up and then execs the process. Perl is part of every Debian and
 * Ubuntu (perl-base). Rejected: Node's `--permission` (native code ignores it), `user_files_path` (this program ignores
 * it), `setpriv --landlock-access` (too new for Debian 12), `bwrap` (seldom installed).
 */

/** Numbers of the system call prctl. */
const PRCTL: Partial<Record<NodeJS.Architecture, number>> = { x64: 157, arm64: 167 }

const PERL = '/usr/bin/perl'

/** Programs, libraries and information about the machine, without secrets. */
const SYSTEM = [
  ...['/usr', '/lib', '/lib32', '/lib64', '/bin', '/sbin', '/nix/store', '/proc', '/sys'],
  ...['/dev/null', '/dev/zero', '/dev/random', '/dev/urandom'],
  ...['/etc/ld.so.cache', '/etc/localtime', '/etc/timezone', '/etc/nsswitch.conf', '/etc/ssl/openssl.cnf'],
]

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** Not the whole folder, because it may hold the user's data and `.env`. */
const PROGRAM = ['src', 'schemas', 'pipelines', 'node_modules', 'package.json', 'tsconfig.json']

/**
 * The prefix of a command that walls it in. Empty without Landlock or Perl. On an old kernel the command runs
 * without a wall; `process.mjs` says whether it has one.
 * @param folder the only folder that the process may change; must exist
 */
export function walledCommand(folder: string): readonly string[] {
  const prctl = PRCTL[process.arch]
  if (process.platform !== 'linux' || prctl === undefined || !existsSync(PERL)) return []
  const script = fileURLToPath(new URL('wall.pl', import.meta.url))
  const places = [...SYSTEM, ...programPaths()].map((path) => `r:${path}`)
  return [PERL, script, String(prctl), ...places, `w:${folder}`, 'w:/dev/null', '--']
}

function programPaths(): string[] {
  const node = realpathSync(process.execPath)
  return [node, join(dirname(node), '..', 'lib'), ...PROGRAM.map((name) => join(ROOT, name)), ...packagesOfEngine()]
}

/** The `node_modules` with the engine. It is not our own if ipid is a dependency of another project. */
function packagesOfEngine(): string[] {
  try {
    return [dirname(dirname(createRequire(import.meta.url).resolve('chdb/package.json')))]
  } catch {
    // `library.ts` reports a missing package.
    return []
  }
}
