/** How many days have one, where no day has more. Undefined: a day has more, or none has any, and a chart of bars says more than marks. */
export function onceADay(values: readonly number[]): number | undefined {
  const days = values.filter((value) => value === 1).length
  return days > 0 && values.every((value) => value <= 1) ? days : undefined
}
