import type { LotDemand } from '../lots.ts'

/** A demand as the scripts that use `scripts/lots.lua` take it. */
export function lotArgs(demand: LotDemand | undefined): (string | number)[] {
  if (demand === undefined) return ['', 0, 0, '', 0]
  return [demand.back, demand.returned, demand.kept, demand.name, demand.wanted]
}
