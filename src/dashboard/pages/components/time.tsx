import { ago, time, utc } from '../lib/format.ts'

/** A time in the reader's zone; the tooltip has UTC. @param isAgo shows its age instead */
export function Time({ at, isAgo = false }: { readonly at: string; readonly isAgo?: boolean }) {
  return (
    <time dateTime={at} title={utc(at)}>
      {isAgo ? ago(at) : time(at)}
    </time>
  )
}
