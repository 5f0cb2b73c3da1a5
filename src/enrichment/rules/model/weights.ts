import { readFileSync } from 'node:fs'
import type { Weights } from '../../../../bench/model/train.ts'
import { MODEL_CLASSES } from './classes.ts'

/** What a feature adds for an access provider and for a hoster, against an organisation. */
export interface Weight {
  readonly isp: number
  readonly hosting: number
}

/** Weights are whole numbers of this part. */
const UNIT = 0.01
/** Weights that are smaller than this change no vote. */
const LEAST = 4
const ORGANISATION = MODEL_CLASSES.indexOf('organisation')
const ISP = MODEL_CLASSES.indexOf('isp')
const HOSTING = MODEL_CLASSES.indexOf('hosting')

/** The text of `data/model.tsv`: a line for each feature, in their order. */
export function formatWeights(weights: Weights): string {
  const lines = [...weights].flatMap(([feature, values]) => {
    const isp = Math.round((values[ISP]! - values[ORGANISATION]!) / UNIT)
    const hosting = Math.round((values[HOSTING]! - values[ORGANISATION]!) / UNIT)
    return Math.abs(isp) < LEAST && Math.abs(hosting) < LEAST ? [] : [`${feature}\t${isp}\t${hosting}\n`]
  })
  return `feature\tisp\thosting\n${lines.join('')}`
}

/** @throws Error with the line, when it is no line of such a text */
export function parseWeights(text: string): Map<string, Weight> {
  const weights = new Map<string, Weight>()
  const lines = text.trimEnd().split('\n')
  for (const [i, line] of lines.entries()) {
    if (i === 0) continue
    const [feature, isp, hosting, ...rest] = line.split('\t')
    const weight = { isp: Number(isp) * UNIT, hosting: Number(hosting) * UNIT }
    if (!feature || rest.length > 0 || Number.isNaN(weight.isp) || Number.isNaN(weight.hosting)) {
      throw new Error(`model.tsv:${i + 1}: "${line}" is no weight`)
    }
    weights.set(feature, weight)
  }
  return weights
}

/** All of `data/model.tsv`. */
export function readWeights(): Map<string, Weight> {
  return parseWeights(readFileSync(new URL('../data/model.tsv', import.meta.url), 'utf8'))
}
