import { allocationWords } from './allocation.ts'
import { asNumbers } from './as-numbers.ts'
import { nameTables } from './business-name.ts'
import { categoryWords } from './category.ts'
import { worldBrands } from './company-id.ts'
import { hostnamePatterns } from './hostnames.ts'
import { providerDomains, reservedDomains } from './known-domains.ts'
import { modelWeights } from './model/vote.ts'
import { genericWords } from './normalise.ts'
import { personNames } from './person.ts'
import { knownNames, nameWords } from './score-name.ts'
import { connectionTypes, vendorTypes } from './vendor-types.ts'

/** The tables of the rules. Each is read from `data/` on first use. */
const TABLES = [
  nameTables,
  categoryWords,
  modelWeights,
  allocationWords,
  asNumbers,
  providerDomains,
  reservedDomains,
  hostnamePatterns,
  vendorTypes,
  connectionTypes,
  genericWords,
  knownNames,
  worldBrands,
  personNames,
  nameWords,
]

/** Reads all tables ahead of the first lookup. @throws Error with file and reason in a broken installation */
export function loadRules(): void {
  for (const load of TABLES) load()
}
