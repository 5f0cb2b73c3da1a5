import type { Mutant } from '../mutant.ts'
import { EXACTLY_ONCE } from './1-exactly-once.ts'
import { TRIMMING } from './2-trimming.ts'
import { BOUNDED_MEMORY } from './3-bounded-memory.ts'
import { TENANTS_APART } from './4-tenants-apart.ts'
import { BAD_EVENTS } from './5-bad-events.ts'
import { BLOCKS } from './6-blocks.ts'

/** The mutants by invariant, in the order of the invariants in src/README.md. */
const BY_INVARIANT = [EXACTLY_ONCE, TRIMMING, BOUNDED_MEMORY, TENANTS_APART, BAD_EVENTS, BLOCKS]

/** A mutant with the number of the invariant that it breaks, from 1. */
export type NumberedMutant = Mutant & { readonly invariant: number }

/** The mutants of `npm run mutants`. */
export const MUTANTS: readonly NumberedMutant[] = BY_INVARIANT.flatMap((mutants, index) =>
  mutants.map((mutant) => ({ ...mutant, invariant: index + 1 })),
)
