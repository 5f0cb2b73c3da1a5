import type { Provider } from '../provider.ts'

/** The name by which lookups allow and deny reverse DNS. */
export const RDNS = 'rdns'

/** Reverse DNS in its place in the order of trust. It is asked aside: see `ReverseDns`. */
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
