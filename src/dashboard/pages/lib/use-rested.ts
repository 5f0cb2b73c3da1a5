import { useEffect, useState } from 'preact/hooks'

/**
 * The value since it last stayed the same for a while: a query for it is not made at each step of typing.
 * @param first until a value has rested
 * @param restMs milliseconds without a change
 */
export function useRested<First extends string | undefined>(
  value: string,
  first: First,
  restMs: number,
): string | First {
  const [rested, setRested] = useState<string | First>(first)
  useEffect(() => {
    const timer = window.setTimeout(() => setRested(value), restMs)
    return () => window.clearTimeout(timer)
  }, [value, restMs])
  return rested
}
