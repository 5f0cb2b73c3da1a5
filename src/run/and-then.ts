/** Passes a value to `next`, at once or when its promise resolves. A value that is known already costs no promise. */
export function andThen<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}
