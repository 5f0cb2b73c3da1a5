import { number } from './format.ts'

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** 93500 → 1.6 min; 0 → – */
export function duration(ms: number): string {
  if (ms <= 0) return '–'
  const [unit, size] = UNITS.find(([, size]) => ms >= size) ?? ['ms', 1]
  const value = ms / size
  return `${number(value < 10 && size > 1 ? Math.round(value * 10) / 10 : Math.round(value))} ${unit}`
}
