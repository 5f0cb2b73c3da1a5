/**
 * Beside the socket of a Redis that leaves it to its clients to wait for the disk: a link to the folder of its append-only
 * file. Where there is none, Redis waits itself, or nobody is to.
 */
export function appendOnlyLink(socket: string): string {
  return `${socket}.aof`
}

/** In that folder: names the files of today. It is replaced as each rewrite begins, and as it ends. */
export const APPEND_ONLY_MANIFEST = 'appendonly.aof.manifest'

/** The files of a manifest to which Redis appends, or did: the last of them is the one of today. */
export function appendedFiles(manifest: string): string[] {
  return filesOf(manifest, 'i')
}

/** The files of a manifest that Redis wrote anew, each as a whole. */
export function baseFiles(manifest: string): string[] {
  return filesOf(manifest, 'b')
}

/** @param type as Redis writes it: `b` of a base, `i` of what is appended to */
function filesOf(manifest: string, type: 'b' | 'i'): string[] {
  return Array.from(manifest.matchAll(/^file (\S+) seq \d+ type ([a-z])/gm))
    .filter(([, , found]) => found === type)
    .map(([, name]) => name!)
}
