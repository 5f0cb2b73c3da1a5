import { WEIGHT_UNIT } from '../../src/enrichment/rules/model/vote.ts'

/** The classes of the model. */
const MODEL_CLASSES = ['organisation', 'isp', 'hosting'] as const
export type ModelClass = (typeof MODEL_CLASSES)[number]

/** Weights that are smaller than this change no vote. */
const LEAST = 4
const ORGANISATION = MODEL_CLASSES.indexOf('organisation')
const ISP = MODEL_CLASSES.indexOf('isp')
const HOSTING = MODEL_CLASSES.indexOf('hosting')

/** A name with its known class. */
export interface Example {
  readonly features: ReadonlySet<string>
  readonly truth: ModelClass
  /** 1 for a full example. */
  readonly weight: number
}

/** The same examples and options give the same weights. */
interface TrainOptions {
  /** Number of examples that must have a feature. */
  readonly featureMin: number
  readonly rounds: number
  readonly rate: number
  /** Pull of each weight to zero. */
  readonly decay: number
}

/** A weight for each class, by feature. */
export type Weights = Map<string, Float64Array>

/** Logistic regression over three classes by AdaGrad, with a deterministic shuffle. */
export function train(examples: readonly Example[], options: TrainOptions): Weights {
  const names = featureNames(examples, options.featureMin)
  const ids = new Map(names.map((name, id) => [name, id]))
  const rows = examples.map(({ features, truth, weight }) => ({
    ids: Uint32Array.from([...features].flatMap((feature) => ids.get(feature) ?? [])),
    truth: MODEL_CLASSES.indexOf(truth),
    weight,
  }))
  const width = MODEL_CLASSES.length
  const weights = new Float64Array(names.length * width)
  const squares = new Float64Array(names.length * width).fill(1)
  const random = lcg()
  for (let round = 0; round < options.rounds; round++) {
    shuffle(rows, random)
    for (const row of rows) step(row)
  }
  return new Map(names.map((name, id) => [name, weights.slice(id * width, (id + 1) * width)]))

  function step(row: (typeof rows)[number]): void {
    const shares = new Float64Array(width)
    for (const id of row.ids) for (let c = 0; c < width; c++) shares[c]! += weights[id * width + c]!
    softmax(shares)
    for (let c = 0; c < width; c++) {
      const error = row.weight * (shares[c]! - (row.truth === c ? 1 : 0))
      for (const id of row.ids) {
        const at = id * width + c
        const gradient = error + options.decay * weights[at]!
        squares[at]! += gradient * gradient
        weights[at]! -= (options.rate * gradient) / Math.sqrt(squares[at]!)
      }
    }
  }
}

function featureNames(examples: readonly Example[], least: number): string[] {
  const counts = new Map<string, number>()
  for (const { features } of examples)
    for (const feature of features) counts.set(feature, (counts.get(feature) ?? 0) + 1)
  return [...counts]
    .filter(([, count]) => count >= least)
    .map(([name]) => name)
    .sort()
}

/** A deterministic pseudo-random generator (Numerical Recipes). */
function lcg(): () => number {
  let state = 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

function shuffle<T>(rows: T[], random: () => number): void {
  for (let i = rows.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[rows[i], rows[j]] = [rows[j]!, rows[i]!]
  }
}

/** Turns sums of weights into probabilities, in place. */
function softmax(sums: Float64Array): void {
  const most = Math.max(...sums)
  let total = 0
  for (let c = 0; c < sums.length; c++) {
    sums[c] = Math.exp(sums[c]! - most)
    total += sums[c]!
  }
  for (let c = 0; c < sums.length; c++) sums[c]! /= total
}

/** The text of `data/model.tsv`: a line for each feature, in their order. */
export function formatWeights(weights: Weights): string {
  const lines = [...weights].flatMap(([feature, values]) => {
    const isp = Math.round((values[ISP]! - values[ORGANISATION]!) / WEIGHT_UNIT)
    const hosting = Math.round((values[HOSTING]! - values[ORGANISATION]!) / WEIGHT_UNIT)
    return Math.abs(isp) < LEAST && Math.abs(hosting) < LEAST ? [] : [`${feature}\t${isp}\t${hosting}\n`]
  })
  return `feature\tisp\thosting\n${lines.join('')}`
}
