import { allocationWords } from './allocation.ts'
import { asNumbers } from './as-numbers.ts'
import { hostnamePatterns } from './hostnames.ts'
import { modelWeights } from './model/vote.ts'
import { genericWords } from './normalise.ts'
import { providerDomains } from './provider-domains.ts'
import { reservedDomains } from './reserved-domains.ts'
import { knownNames, nameWords } from './score-name.ts'
import { connectionTypes, vendorTypes } from './vendor-types.ts'

/** The tables of the rules, each read from `data/` when it is asked for first. */
const TABLES = [
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
  nameWords,
]

/** Reads all tables, so that no question has to. @throws Error with the file and the reason, in a broken installation */
export function loadRules(): void {
  for (const load of TABLES) load()
}
