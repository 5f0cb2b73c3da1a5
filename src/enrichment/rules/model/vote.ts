import { once } from '../sections.ts'
import { featuresOf, type Subject } from './features.ts'
import { readWeights } from './weights.ts'

export const modelWeights = once(readWeights)

/** How likely the holder of an AS is an access provider or a hoster, and not an organisation; together at most 1. */
export interface Shares {
  readonly isp: number
  readonly hosting: number
}

/** What the model makes of a name that the rules are silent about. The same for the same subject. */
export function sharesOf(subject: Subject): Shares {
  const weights = modelWeights()
  let isp = 0
  let hosting = 0
  for (const feature of featuresOf(subject)) {
    const weight = weights.get(feature)
    if (weight === undefined) continue
    isp += weight.isp
    hosting += weight.hosting
  }
  const most = Math.max(isp, hosting, 0)
  const parts = { isp: Math.exp(isp - most), hosting: Math.exp(hosting - most), organisation: Math.exp(-most) }
  const all = parts.isp + parts.hosting + parts.organisation
  return { isp: parts.isp / all, hosting: parts.hosting / all }
}

/** A vote, and how likely the model takes the subject for noise. */
export interface Vote {
  readonly classification: 'isp' | 'hosting' | 'business' | undefined
  readonly noise: number
}

/**
 * How sure the model must be. A lower bound catches more, and loses more: by what labelled samples and a reading of names
 * show, a sixth to a quarter of those between 0.92 and 0.94 are organisations, and a twelfth of those above.
 */
const NOISE_SURE = 0.94
const BUSINESS_SURE = 0.1

/** Votes when it is sure. The size and number of an AS may be enough for that. */
export function voteOn(subject: Subject): Vote {
  const { isp, hosting } = sharesOf(subject)
  const noise = isp + hosting
  if (noise >= NOISE_SURE) {
    return { classification: hosting > isp ? 'hosting' : 'isp', noise }
  }
  return { classification: noise <= BUSINESS_SURE ? 'business' : undefined, noise }
}
