import type { ArchiveLocation } from '../pipeline/declaration/destination.ts'

/** Where files of exports are, for people. */
export function placeOf(location: ArchiveLocation): string {
  return 'folder' in location ? location.folder : `s3://${location.bucket}/${location.prefix}`
}
