/**
 * Runs an example when its page calls it. The result is what the page's test waits for.
 * @param {(place: { base: string, key: string }) => unknown} run
 */
export function example(run) {
  window.example = run
}

/** Calls a function that takes a callback as its last argument. */
export function called(call) {
  return new Promise((resolve) => call(resolve))
}
