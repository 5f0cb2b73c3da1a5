import type { ArchiveLocation } from '../pipeline/declaration/destination.ts'

/** The place of export files, for people. */
export function placeOf(location: ArchiveLocation): string {
  return 'folder' in location ? location.folder : `s3://${location.bucket}/${location.prefix}`
}
