/** A promise with its resolve and reject functions. */
export interface Resolvers {
  readonly promise: Promise<void>
  readonly resolve: () => void
  readonly reject: (failure: Error) => void
}

/** `Promise.withResolvers` of ECMAScript 2024, which Node.js has since version 22. */
export function withResolvers(): Resolvers {
  let resolve!: () => void
  let reject!: (failure: Error) => void
  const promise = new Promise<void>((resolved, rejected) => {
    resolve = resolved
    reject = rejected
  })
  return { promise, resolve, reject }
}
