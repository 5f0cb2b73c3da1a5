import { spawn } from 'node:child_process'

/*
 * A child without an IPC channel does not notice that its parent was killed. The leash is a small shell that does: its
 * standard input is a pipe that only the parent holds, so it ends with the parent, however the parent ends.
 */

/** A line of input is the parent's word that the child has ended; the end of the input is the parent's death. */
const SCRIPT = `read -r word && exit 0
tries=$2
[ "$tries" -gt 0 ] && kill -TERM "$1" 2>/dev/null
while [ "$tries" -gt 0 ] && kill -0 "$1" 2>/dev/null; do sleep 0.1; tries=$((tries - 1)); done
kill -KILL "$1" 2>/dev/null`

const AGAIN_MS = 200

/**
 * Ties a child to this process: when this process ends without having called `release`, the child gets SIGTERM, and
 * SIGKILL if it is still there after the grace. The watcher has a session of its own, so signals of the terminal pass it by.
 * @param {number} pid
 * @param {number} graceSeconds 0: SIGKILL at once
 * @param {Record<string, string>} env of the watcher, which wants PATH at most; none when not given
 */
export function holdLeash(pid, graceSeconds = 5, env = {}) {
  let watcher
  let released = false
  const hold = () => {
    if (released) return
    watcher = spawn('/bin/sh', ['-c', SCRIPT, 'ipid-leash', String(pid), String(10 * graceSeconds)], {
      detached: true,
      env,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    watcher.unref()
    watcher.stdin.unref()
    watcher.stdin.on('error', () => {})
    watcher.once('error', () => {})
    // Somebody killed the watcher: the child needs another.
    watcher.once('exit', () => setTimeout(hold, AGAIN_MS).unref())
  }
  hold()
  return {
    release() {
      released = true
      watcher.stdin.end('done\n')
    },
  }
}
