import type { Provider } from '../providers/provider.ts'

const DAY_MS = 86_400_000
/** Vendors publish at least once a month. */
const AGE_MAX_DAYS = 90

type Dated = Pick<Provider, 'builtAt'>

/** Whole days since the data were built; undefined when they do not say when. */
export function ageOf({ builtAt }: Dated, nowMs: number): number | undefined {
  return builtAt === undefined ? undefined : Math.max(0, Math.floor((nowMs - builtAt.getTime()) / DAY_MS))
}

/** Whether somebody should see to newer data. */
export function isTooOld(provider: Dated, nowMs: number): boolean {
  return (ageOf(provider, nowMs) ?? 0) > AGE_MAX_DAYS
}
