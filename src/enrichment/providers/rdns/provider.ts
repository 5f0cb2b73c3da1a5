import type { Provider } from '../provider.ts'

/** The provider name of reverse DNS in lookups. */
export const RDNS = 'rdns'

/** A placeholder for reverse DNS in the order of trust. `ReverseDns` runs the queries. */
export const RDNS_PROVIDER: Provider = {
  name: RDNS,
  kind: 'rdns',
  recognisedAs: 'reverse DNS',
  builtAt: undefined,
  records: 0,
  warnings: [],
  find: () => undefined,
  networkOf: () => undefined,
}
