import { spawn } from 'node:child_process'

/*
 * A child without an IPC channel does not notice when its parent is killed. The watcher is a small shell that does: its standard input
 * is a pipe that only the parent holds, so the input ends when the parent does.
 */

/** A line of input means that the child has ended. The end of the input means that the parent is dead. */
const SCRIPT = `read -r word && exit 0
tries=$2
[ "$tries" -gt 0 ] && kill -TERM "$1" 2>/dev/null
while [ "$tries" -gt 0 ] && kill -0 "$1" 2>/dev/null; do sleep 0.1; tries=$((tries - 1)); done
kill -KILL "$1" 2>/dev/null`

const AGAIN_MS = 200

/**
 * See leash.d.mts. The watcher has its own session, so it gets no signals of the terminal.
 * @param {number} pid
 * @param {number} graceSeconds
 * @param {Record<string, string>} env
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
    // If the watcher was killed, the child needs another.
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
