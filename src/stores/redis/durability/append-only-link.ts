/**
 * Path of a link beside the Redis socket, to the folder of the append-only file. It exists if clients must sync the file themselves,
 * and not if Redis does so or nothing does.
 */
export function appendOnlyLink(socket: string): string {
  return `${socket}.aof`
}

/** Lists the current files of that folder. Redis replaces it at the start and at the end of each rewrite. */
export const APPEND_ONLY_MANIFEST = 'appendonly.aof.manifest'

/** The files of a manifest that Redis appends to; the last is the current one. */
export function appendedFiles(manifest: string): string[] {
  return filesOf(manifest, 'i')
}

/** The base files of a manifest: the results of rewrites. */
export function baseFiles(manifest: string): string[] {
  return filesOf(manifest, 'b')
}

/** @param type Redis' code: `b` for a base, `i` for an appended file */
function filesOf(manifest: string, type: 'b' | 'i'): string[] {
  return Array.from(manifest.matchAll(/^file (\S+) seq \d+ type ([a-z])/gm))
    .filter(([, , found]) => found === type)
    .map(([, name]) => name!)
}
