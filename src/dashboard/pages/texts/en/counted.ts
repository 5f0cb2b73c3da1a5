import { counted as countedIn, number } from '../../lib/format.ts'

/** 1 → 1 event; 1234 → 1,234 events. @param other default: `one` with an s */
export const counted = (value: number, one: string, other = `${one}s`) => countedIn(value, { one, other })

export const isOrAre = (count: number) => (count === 1 ? 'is' : 'are')
export const wasOrWere = (count: number) => (count === 1 ? 'was' : 'were')

/** 3 → +3 points */
export const pointsMore = (points: number) =>
  `${points > 0 ? '+' : '−'}${number(Math.abs(points))} ${Math.abs(points) === 1 ? 'point' : 'points'}`
