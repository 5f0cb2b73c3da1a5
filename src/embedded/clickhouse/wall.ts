import { existsSync, opendirSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The wall around the process of the embedded ClickHouse: it can open its own folder and what it runs on, and can connect to
 * no TCP port. The kernel enforces it (Landlock, Linux 5.19; ports from 6.7), so it also holds against functions and settings
 * that nobody thought of. `reach.ts` judges statements as well, for machines without it.
 *
 * Node has no call for Landlock: a short script in Perl makes the calls and then becomes the process. Perl is part of every
 * Debian and Ubuntu (perl-base). Rejected: Node's `--permission` (native code ignores it), chdb's `user_files_path` (only
 * servers obey it), `setpriv --landlock-access` (too new for Debian 12), `bwrap` (seldom installed).
 */

/** Numbers of the system call prctl. */
const PRCTL: Partial<Record<NodeJS.Architecture, number>> = { x64: 157, arm64: 167 }

const PERL = '/usr/bin/perl'

/** Programs, libraries and facts about the machine. None of them holds a secret. */
const SYSTEM = [
  ...['/usr', '/lib', '/lib32', '/lib64', '/bin', '/sbin', '/nix/store', '/proc', '/sys'],
  ...['/dev/null', '/dev/zero', '/dev/random', '/dev/urandom'],
  ...['/etc/ld.so.cache', '/etc/localtime', '/etc/timezone', '/etc/nsswitch.conf', '/etc/ssl/openssl.cnf'],
]

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** Not the whole folder: the user's data and `.env` may be in it. */
const PROGRAM = ['src', 'schemas', 'pipelines', 'node_modules', 'package.json', 'tsconfig.json']

/**
 * The beginning of a command that runs the rest of it behind the wall. Empty where there is no Landlock or no Perl; an old
 * kernel runs the rest without a wall. The process finds out by `isWalled`.
 * @param folder the one folder that the process may change; it has to exist
 */
export function walledCommand(folder: string): readonly string[] {
  const prctl = PRCTL[process.arch]
  if (process.platform !== 'linux' || prctl === undefined || !existsSync(PERL)) return []
  const script = fileURLToPath(new URL('wall.pl', import.meta.url))
  const places = [...SYSTEM, ...programPlaces()].map((path) => `r:${path}`)
  return [PERL, script, String(prctl), ...places, `w:${folder}`, 'w:/dev/null', '--']
}

function programPlaces(): string[] {
  const node = realpathSync(process.execPath)
  return [node, join(dirname(node), '..', 'lib'), ...PROGRAM.map((name) => join(ROOT, name)), ...packagesOfEngine()]
}

/** The `node_modules` with the engine: not our own when ipid is a package of somebody's project. */
function packagesOfEngine(): string[] {
  try {
    return [dirname(dirname(createRequire(import.meta.url).resolve('chdb/package.json')))]
  } catch {
    // The process itself reports that it is not installed.
    return []
  }
}

/** Whether the wall stands around this process: without one, every user may list the top folder. */
export function isWalled(): boolean {
  try {
    opendirSync('/').closeSync()
    return false
  } catch {
    return true
  }
}
