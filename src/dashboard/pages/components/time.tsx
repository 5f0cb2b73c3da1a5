import { ago, time, utc } from '../lib/format.ts'

/** A moment in the reader's zone, in UTC when pointed at. @param isAgo how long ago instead */
export function Time({ at, isAgo = false }: { readonly at: string; readonly isAgo?: boolean }) {
  return (
    <time dateTime={at} title={utc(at)}>
      {isAgo ? ago(at) : time(at)}
    </time>
  )
}
