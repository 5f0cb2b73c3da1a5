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
  return Array.from(manifest.matchAll(/^file (\S+) seq \d+ type i/gm), ([, name]) => name!)
}
