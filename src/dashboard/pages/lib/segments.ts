import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { ListedSegment } from '../../../../schemas/dashboard/segments.ts'

/** The segments of the tenant that the page is about. */
export interface KnownSegments {
  /** By name; undefined while they load. */
  readonly segments: readonly ListedSegment[] | undefined
  /** Reads them again, after a change. */
  reload(): void
}

export const SegmentsContext = createContext<KnownSegments>({ segments: undefined, reload: () => {} })

export function useSegments(): KnownSegments {
  return useContext(SegmentsContext)
}
