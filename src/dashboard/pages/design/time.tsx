import { ago, time, utc } from '../lib/format.ts'

interface TimeProps {
  /** ISO 8601. */
  readonly at: string
  /** Shows its age instead. */
  readonly isAgo?: boolean
}

/** A time in the reader's zone. The tooltip has it in UTC. */
export function Time({ at, isAgo = false }: TimeProps) {
  return (
    <time dateTime={at} title={isAgo ? `${time(at)} (${utc(at)})` : utc(at)}>
      {isAgo ? ago(at) : time(at)}
    </time>
  )
}
